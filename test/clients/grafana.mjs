// Compares the dashboards with the types that Grafana publishes in @grafana/schema, of the oldest and of the newest version that they
// are for: the compiler of TypeScript reads each dashboard, each panel with the options of its kind, and each query, as a literal.
//
//   CLIENTS=DIRECTORY node grafana.mjs FILE.json ...
//
// DIRECTORY has node_modules with schema-11, schema-13 (both are @grafana/schema) and typescript.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const clients = process.env.CLIENTS
const ts = createRequire(path.join(clients, 'package.json'))('typescript')
const kinds = { bargauge: 'BarGauge', stat: 'Stat', statetimeline: 'StateTimeline', table: 'Table', timeseries: 'TimeSeries' }

// A JSON file has the values of an enum, and not its names.
const head = schema => `
import type { Dashboard, DataSourceRef, Panel, RowPanel } from '${schema}'
${Object.entries(kinds).map(([kind, name]) =>
  `import type * as ${kind} from '${schema}/dist/esm/raw/composable/${kind}/panelcfg/x/${name}PanelCfg_types.gen'`).join('\n')}
type Plain<T> = T extends string ? \`\${T}\` : T extends number ? (number extends T ? number : T) : T extends boolean | null | undefined ? T
  : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T
type Query = { datasource: DataSourceRef, refId: string }
interface PrometheusQuery extends Query {
  expr: string, editorMode: 'code', instant: boolean, range: boolean, format?: 'table', legendFormat?: string
}
// As the ClickHouse data source has it in src/types/sql.ts.
interface ClickHouseQuery extends Query {
  pluginVersion: string, editorType: 'sql', rawSql: string, queryType: 'table' | 'timeseries', format: 0 | 1
}
`

// source writes a dashboard as TypeScript.
function source(schema, dashboard) {
  const { panels, ...rest } = structuredClone(dashboard)
  let text = head(schema)
  for (const [i, note] of (rest.annotations.list ?? []).entries()) {
    text += `export const note${i}: ClickHouseQuery = ${JSON.stringify(note.target, null, 1)}\n`
    note.target = { refId: note.target.refId }
  }
  text += `export const dashboard: Plain<Dashboard> = ${JSON.stringify(rest, null, 1)}\n`
  for (const [i, panel] of panels.entries()) {
    if (panel.type === 'row') {
      text += `export const row${i}: Plain<RowPanel> = ${JSON.stringify(panel, null, 1)}\n`
      continue
    }
    const { targets, ...drawn } = panel
    const kind = panel.type.replaceAll('-', '')
    const custom = ['timeseries', 'statetimeline'].includes(kind) ? `${kind}.FieldConfig` : 'Record<string, unknown>'
    text += `export const panel${i}: Plain<Panel<${kind}.Options, ${custom}>> = ${JSON.stringify(drawn, null, 1)}\n`
    for (const [j, target] of targets.entries()) {
      text += `export const query${i}_${j}: ${'rawSql' in target ? 'ClickHouseQuery' : 'PrometheusQuery'} = ${JSON.stringify(target, null, 1)}\n`
    }
  }
  return text
}

const dir = fs.mkdtempSync(path.join(clients, 'check-'))
try {
  const files = []
  for (const file of process.argv.slice(2)) {
    const dashboard = JSON.parse(fs.readFileSync(file, 'utf8'))
    for (const schema of ['schema-11', 'schema-13']) {
      const to = path.join(dir, `${path.basename(file, '.json')}-${schema}.ts`)
      fs.writeFileSync(to, source(schema, dashboard))
      files.push(to)
    }
  }
  const program = ts.createProgram(files, {
    strict: true, noEmit: true, skipLibCheck: true, types: [],
    target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
  })
  const faults = ts.getPreEmitDiagnostics(program)
  if (faults.length > 0) {
    console.error(ts.formatDiagnostics(faults.slice(0, 20), { getCanonicalFileName: f => f, getCurrentDirectory: () => dir, getNewLine: () => '\n' }))
    for (const fault of faults.slice(0, 3)) {
      console.error(fault.file?.text.slice(fault.start, fault.start + 200))
    }
    process.exitCode = 1
  }
} finally {
  fs.rmSync(dir, { recursive: true })
}
