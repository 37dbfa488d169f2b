// What @clickhouse/client does with the embedded ClickHouse. Arguments: URL, password of the writer.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { createRequire } from 'node:module'

const { createClient, ClickHouseError } = createRequire(process.env.CLIENTS + '/')('@clickhouse/client')
const [url, password] = process.argv.slice(2)
const writer = createClient({ url, username: 'kubevoltracker', password, compression: { request: true, response: true } })
const reader = createClient({ url })

const cases = {
  async ping() {
    assert.equal((await reader.ping()).success, true)
  },
  async queries() {
    const rows = await (await reader.query({ query: 'SELECT number AS n FROM numbers(3)', format: 'JSONEachRow' })).json()
    assert.deepEqual(rows.map((r) => Number(r.n)), [0, 1, 2])
    const all = await (await reader.query({ query: 'SELECT 1 AS x', format: 'JSON' })).json()
    assert.equal(all.rows, 1)
  },
  async parameters() {
    const rows = await (await reader.query({
      query: 'SELECT {s:String} AS s, {a:Array(UInt8)} AS a', query_params: { s: "it's \\ \n \"x\"", a: [1, 2] }, format: 'JSONEachRow',
    })).json()
    assert.deepEqual(rows, [{ s: "it's \\ \n \"x\"", a: [1, 2] }])
  },
  async settings() {
    const rows = await (await reader.query({ query: "SELECT getSetting('max_block_size') AS v", clickhouse_settings: { max_block_size: '7' }, format: 'JSONEachRow' })).json()
    assert.equal(Number(rows[0].v), 7)
  },
  async inserts() {
    await writer.command({ query: 'CREATE TABLE from_node (n UInt32, s String) ENGINE = MergeTree ORDER BY n' })
    await writer.insert({ table: 'from_node', values: [{ n: 1, s: 'one' }], format: 'JSONEachRow' })
    const stream = Readable.from((function* () { for (let n = 2; n <= 20000; n++) yield { n, s: 'row ' + n } })(), { objectMode: true })
    await writer.insert({ table: 'from_node', values: stream, format: 'JSONEachRow' })
    const rows = await (await reader.query({ query: 'SELECT count() AS c, sum(n) AS s FROM from_node', format: 'JSONEachRow' })).json()
    assert.deepEqual([Number(rows[0].c), Number(rows[0].s)], [20000, 200010000])
  },
  async streams() {
    let n = 0
    for await (const rows of (await writer.query({ query: 'SELECT number FROM numbers(200000)', format: 'JSONCompactEachRow' })).stream()) n += rows.length
    assert.equal(n, 200000)
  },
  async sessions() {
    const session = createClient({ url, username: 'kubevoltracker', password, session_id: 'from-node' })
    await session.command({ query: 'CREATE TEMPORARY TABLE mine (a Int8)' })
    await session.insert({ table: 'mine', values: [[5]], format: 'JSONCompactEachRow' })
    assert.deepEqual(await (await session.query({ query: 'SELECT a FROM mine', format: 'JSONEachRow' })).json(), [{ a: 5 }])
    await session.close()
  },
  async abort() {
    const control = new AbortController()
    const asked = reader.query({ query: 'SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 0', abort_signal: control.signal, query_id: 'aborted-by-node' })
    setTimeout(() => control.abort(), 200)
    await assert.rejects(asked)
    for (let i = 0; i < 100; i++) {
      const rows = await (await reader.query({ query: "SELECT count() AS n FROM system.processes WHERE query LIKE '%1e15%' AND query NOT LIKE '%processes%'", format: 'JSONEachRow' })).json()
      if (Number(rows[0].n) === 0) return
      await new Promise((done) => setTimeout(done, 100))
    }
    assert.fail('the statement goes on')
  },
  async errors() {
    await assert.rejects(reader.query({ query: 'SELECT nosuch' }), (e) => e instanceof ClickHouseError && e.code === '47' && e.type === 'UNKNOWN_IDENTIFIER')
    await assert.rejects(reader.command({ query: 'DROP TABLE from_node' }), (e) => e instanceof ClickHouseError && e.code === '497')
    await assert.rejects(createClient({ url, username: 'kubevoltracker', password: 'wrong' }).query({ query: 'SELECT 1' }), (e) => e.code === '516')
  },
}
for (const [name, run] of Object.entries(cases)) {
  try {
    await run()
    console.log('ok', name)
  } catch (e) {
    console.log('FAILED', name, e)
    process.exitCode = 1
  }
}
await writer.close()
await reader.close()
