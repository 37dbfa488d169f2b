-- The containers of the pods from..to: one each.
WITH
    number AS p,
    sipHash64('namespace', p) % {namespaces:UInt64} AS ns,
    sipHash64('app', p) % 40 AS app,
    {began:Int64} + toInt64(p * {span:UInt64} / {pods:UInt64}) AS created,
    created + 2 + toInt64(sipHash64('start', p) % 20) AS started,
    started + toInt64(30 * pow(2, sipHash64('life', p) % 16)) AS ended,
    ended <= {began:Int64} + toInt64({span:UInt64}) AS over
SELECT
    'east' AS cluster,
    concat('team-', leftPad(toString(ns), 3, '0')) AS namespace,
    toString(reinterpretAsUUID(sipHash128('pod', p))) AS pod_uid,
    fromUnixTimestamp64Micro(created * 1000000, 'UTC') AS pod_created_at,
    'main' AS name,
    'main' AS kind,
    concat('registry.example.com/app-', toString(app), ':1.', toString(intDiv(p * 100, {pods:UInt64}))) AS image,
    '/app' AS command,
    fromUnixTimestamp64Micro(started * 1000000, 'UTC') AS started_at,
    if(over, fromUnixTimestamp64Micro(ended * 1000000, 'UTC'), NULL) AS finished_at,
    0 AS restarts,
    toUInt64(if(over, ended + 2, started + 1)) * 1000000 + p % 1000 * 1000 AS version
FROM numbers({from:UInt64}, {to:UInt64} - {from:UInt64})
