package main

func tracker() board {
	const kinds = `min by (cluster, kind) (kubevoltracker_watch_available{` + ofCluster + `})`
	up := map[string]value{"0": {"failing", ""}, "1": {"up", ""}}
	return board{
		name: "tracker", title: "Tracker", from: "now-6h", refresh: "1m",
		question: "Does the tracker work: does it watch everything, does the catalog get all rows, and what may be missing in the history?",
		choices:  []choice{cluster, namespace},
		rows: []row{{"", []panel{
			{kind: figure, title: "Trackers", unit: "short", width: 4, height: 4, description: "Trackers that Prometheus reaches.", steps: []step{},
				queries: []query{now(`count(kubevoltracker_build_info{`+ofCluster+`}) or vector(0)`, "")}},
			{kind: figure, title: "Leaders", unit: "short", width: 4, height: 4, description: "Trackers that write a catalog: one for each cluster. The others stand by. Without a catalog there is no data.",
				queries: []query{now(`sum(kubevoltracker_leader{`+ofCluster+`})`, "")}},
			{kind: figure, title: "Catalog", unit: "short", width: 4, height: 4, values: up, description: "Whether ClickHouse did what each tracker asked it last; without a catalog there is no data.",
				queries: []query{now(`min(kubevoltracker_catalog_up{`+ofCluster+`})`, "")}},
			{kind: figure, title: "Rows that wait", unit: "short", width: 4, height: 4, description: "Rows in the journals that wait for ClickHouse to acknowledge them.",
				queries: []query{now(`sum(max by (cluster) (kubevoltracker_journal_facts{`+ofCluster+`}))`, "")}},
			{kind: figure, title: "Oldest row", unit: "s", width: 4, height: 4, description: "How long the oldest row has waited for ClickHouse.", steps: []step{{60, "yellow"}, {900, "red"}},
				queries: []query{now(`max(kubevoltracker_journal_oldest_fact_seconds{`+ofCluster+`})`, "")}},
			{kind: figure, title: "Kinds not shown", unit: "short", width: 4, height: 4, steps: []step{{1, "yellow"}},
				description: "Kinds of objects that the API server does not show to a tracker: a right is missing, or the API server is too old.",
				queries:     []query{now(orZero("count("+kinds+" == 0)", kinds), "")}},
			{kind: figure, title: "Watch last seen", unit: "s", width: 4, height: 4, steps: []step{{180, "yellow"}, {900, "red"}},
				description: "How long ago the watch that was silent for longest was last known to be up. The API server sends a bookmark each minute while nothing happens.",
				queries:     []query{now(`max(time() - min by (cluster, kind) (kubevoltracker_watch_last_seen_timestamp_seconds{`+ofCluster+`} > 0) unless on (cluster, kind) `+kinds+` == 0)`, "")}},
			{kind: figure, title: "Rows refused", unit: "short", width: 4, height: 4, steps: []step{{1, "red"}},
				description: "Rows that ClickHouse refused for what is in them, since each tracker started. They are in the table catalog_rejects. Without a catalog there is no data.",
				queries:     []query{now(orZero(`sum(kubevoltracker_catalog_rejects_total{`+ofCluster+`})`, `kubevoltracker_catalog_up{`+ofCluster+`}`), "")}},
			{kind: figure, title: "Missing rights", unit: "short", width: 4, height: 4, steps: []step{{1, "red"}}, description: "Permissions that the API server has refused to a tracker.",
				queries: []query{now(orZero(`count(kubevoltracker_missing_rights{`+ofCluster+`} == 1)`, `kubevoltracker_build_info{`+ofCluster+`}`), "")}},
			{kind: figure, title: "Volumes over the limit", unit: "short", width: 4, height: 4, steps: []step{{1, "red"}},
				description: "Volumes without series of their own, because --metrics.max-volumes have them already. Alerts and panels on single volumes do not see them.",
				queries:     []query{now(`max(kubevoltracker_metrics_volumes_over_limit{`+ofCluster+`})`, "")}},
			{kind: figure, title: "Sandbox", unit: "short", width: 4, height: 4, values: map[string]value{"0": {"off", ""}, "1": {"on", ""}},
				description: "Whether the kernel confines the embedded ClickHouse, as it says itself. There is no data with a ClickHouse server of your own.",
				queries:     []query{now(`min(kubevoltracker_catalog_sandboxed{`+ofCluster+`})`, "")}},
			{kind: figure, title: "Volumes not measured", unit: "short", width: 4, height: 4,
				description: "Bound volumes of the chosen namespaces that have been used and whose used space no kubelet has reported.",
				queries:     []query{now(orZero(`sum(max by (cluster, namespace, storageclass) (kubevoltracker_namespace_unmeasured_volumes{`+ofNamespace+`}))`, complete), "")}},
		}}, {"Watching", []panel{
			{kind: lines, title: "Events from the API server", unit: "eps", width: 12, height: 8, description: "Events that the busiest tracker of each cluster received, by kind.",
				queries: []query{overTime(`sum by (kind) (max by (cluster, kind) (rate(kubevoltracker_watch_events_total{`+ofCluster+`}[$__rate_interval])))`, "{{kind}}")}},
			{kind: lines, title: "Failures", unit: "cps", width: 12, height: 8,
				description: "Lists and watches that failed, by kind, requests that ClickHouse refused or did not answer, and kubelets that did not answer. Each is tried again.",
				queries: []query{
					overTime(`sum by (kind) (max by (cluster, kind) (rate(kubevoltracker_watch_failures_total{`+ofCluster+`}[$__rate_interval])))`, "watch {{kind}}"),
					overTime(`sum(rate(kubevoltracker_catalog_failures_total{`+ofCluster+`}[$__rate_interval]))`, "catalog"),
					overTime(`sum(rate(kubevoltracker_kubelet_failures_total{`+ofCluster+`}[$__rate_interval]))`, "kubelets"),
				}},
			{kind: list, title: "Kinds", unit: "short", width: 12, height: 9, description: "Each kind that is watched: whether the API server shows it, how many objects are in memory, and how long ago the watch was known to be up; of two trackers, that of the one whose watch was silent for longer.",
				columns: "cluster kind available objects seen:s",
				merged:  map[string]string{"Value #available": "available", "Value #objects": "objects", "Value #seen": "seen"},
				queries: []query{
					{ref: "available", instant: true, table: true, expr: kinds},
					{ref: "objects", instant: true, table: true, expr: `max by (cluster, kind) (kubevoltracker_inventory_objects{` + ofCluster + `})`},
					{ref: "seen", instant: true, table: true, expr: `time() - min by (cluster, kind) (kubevoltracker_watch_last_seen_timestamp_seconds{` + ofCluster + `} > 0)`},
				}},
			{kind: states, title: "Watched", unit: "short", width: 12, height: 9, steps: []step{{1, "blue"}},
				description: "When trackers watched the pods of each cluster: 1. What happened in a gap, 0, is dated with bounds, and a pod that came and went in it is not known.",
				queries:     []query{series(watchedOverTime)}},
			{kind: lines, title: "Kubelets asked", unit: "cps", width: 12, height: 8, description: "How often kubelets are asked how full volumes are, and samples that a tracker refused, by reason.",
				queries: []query{
					overTime(`sum(rate(kubevoltracker_kubelet_reads_total{`+ofCluster+`}[$__rate_interval]))`, "asked"),
					overTime(`sum by (reason) (rate(kubevoltracker_kubelet_refused_samples_total{`+ofCluster+`}[$__rate_interval]))`, "refused: {{reason}}"),
				}},
			{kind: lines, title: "Lists and pauses per hour", unit: "short", width: 12, height: 8,
				description: "How often a kind was listed anew because its watch could not go on, and how often a tracker did not run for more than a second.",
				queries: []query{
					overTime(`3600 * sum by (kind) (max by (cluster, kind) (rate(kubevoltracker_watch_lists_total{`+ofCluster+`}[$__rate_interval])))`, "list {{kind}}"),
					overTime(`3600 * sum(rate(kubevoltracker_watch_pauses_total{`+ofCluster+`}[$__rate_interval]))`, "pauses"),
				}},
		}}, {"The catalog", []panel{
			{kind: lines, title: "Rows written", unit: "rowsps", width: 12, height: 8, description: "Rows that ClickHouse has acknowledged, by table.",
				queries: []query{overTime(`sum by (table) (rate(kubevoltracker_catalog_rows_written_total{`+ofCluster+`}[$__rate_interval]))`, "{{table}}")}},
			{kind: lines, title: "Time of an insert", unit: "s", width: 6, height: 8, description: "How long an attempt to insert one block took, failed ones included.",
				queries: []query{
					overTime(quantile(0.5, "catalog_insert_duration_seconds", "cluster", ofCluster), "median"),
					overTime(quantile(0.95, "catalog_insert_duration_seconds", "cluster", ofCluster), "95 %"),
				}},
			{kind: lines, title: "Journal", unit: "bytes", width: 6, height: 8, description: "Size of each journal on disk. It grows while ClickHouse does not take rows.",
				queries: []query{overTime(`max by (cluster, instance) (kubevoltracker_journal_bytes{`+ofCluster+`})`, "{{cluster}} {{instance}}")}},
			{kind: list, title: "How far the catalog is", unit: "short", width: 12, height: 9, description: "The last checkpoint of each kind: up to then the catalog has all events. Behind is the time since then; a quiet kind has a checkpoint each minute or two.",
				columns: "cluster kind instance last:dateTimeAsIso behind:s",
				queries: []query{rowsOf(`
					SELECT cluster, kind, argMax(checkpoints.instance, at) AS instance, max(at) AS last, dateDiff('second', last, now64(6)) AS behind
					FROM checkpoints
					WHERE ` + inCluster + `
					GROUP BY cluster, kind
					ORDER BY behind DESC, kind`)}},
			{kind: list, title: "Rows refused by ClickHouse", unit: "short", width: 12, height: 9, description: "Rows that ClickHouse refused for what is in them, latest first.",
				columns: "at:dateTimeAsIso cluster table_name error row",
				queries: []query{rowsOf(`
					SELECT at, cluster, table_name, error, row
					FROM catalog_rejects FINAL
					WHERE ` + inCluster + `
					ORDER BY at DESC
					LIMIT 100`)}},
			{kind: list, title: "Coverage", unit: "short", width: 24, height: 8, description: "The spans in which a tracker watched a kind without a gap, latest first. Seen is the last time at which the watch was known to work.",
				columns: "cluster instance kind started:dateTimeAsIso seen:dateTimeAsIso ended:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, instance, kind, started_at AS started, seen_at AS seen, ended_at AS ended
					FROM coverage FINAL
					WHERE started_at <= $__toTime AND coalesce(ended_at, seen_at) >= $__fromTime AND ` + inCluster + `
					ORDER BY started DESC, kind
					LIMIT 200`)}},
		}}, {"The process", []panel{
			{kind: lines, title: "Memory", unit: "bytes", width: 12, height: 8, description: "Resident memory of each tracker. The embedded ClickHouse is a process of its own.",
				queries: []query{overTime(`process_resident_memory_bytes{`+ofCluster+`} and on (cluster, job, instance) kubevoltracker_build_info{`+ofCluster+`}`, "{{cluster}} {{instance}}")}},
			{kind: lines, title: "CPU", unit: "percentunit", width: 12, height: 8, description: "Share of a core that each tracker uses.",
				queries: []query{overTime(`rate(process_cpu_seconds_total{`+ofCluster+`}[$__rate_interval]) and on (cluster, job, instance) kubevoltracker_build_info{`+ofCluster+`}`, "{{cluster}} {{instance}}")}},
		}}},
	}
}
