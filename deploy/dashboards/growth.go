package main

import "strings"

func growth() board {
	sum := func(metric string) string { return "sum(" + perNamespace(metric) + ")" }
	// overRange is what a metric came to in the course of the chosen time. A line is fitted to that sum, and not to each series: there are series that begin
	// or end in that time, of namespaces and of trackers.
	overRange := func(metric string) string { return sum(metric) + "[$__range:$__interval]" }
	// byNamespace has the namespaces that exist at the end of the chosen time, with 0 for when they did not exist, unless nobody watched.
	byNamespace := func(metric string) string {
		each := strings.TrimSuffix(perNamespace(metric), ")") // as @ end() belongs to the metric
		return "(sum by (cluster, namespace) (" + each + ")) or 0 * sum by (cluster, namespace) (" + each + " @ end())) and on (cluster) sum by (cluster) (" + each + ")))"
	}
	// created is how many volumes came per hour.
	created := func(offset string) string {
		return `3600 * sum(max by (cluster, storageclass, source) (rate(kubevoltracker_volumes_created_total{` + ofCluster + `, storageclass=~"$storageclass"}[$__rate_interval]` + offset + `)))`
	}
	return board{
		name: "growth", title: "Growth and forecast", from: "now-30d",
		question: "How fast does the storage grow, which namespace grows, and what is full when?",
		choices:  []choice{cluster, namespace, storageclass},
		rows: []row{{"", []panel{
			{kind: figure, title: "Given", unit: "bytes", width: 6, height: 4, description: "Space that bound claims have been given.", queries: []query{now(orZero(sum("capacity_bytes"), complete), "")}},
			{kind: figure, title: "Growth per day", unit: "bytes", width: 6, height: 4, description: "How much more space is given each day: the slope of a line through the chosen time.",
				queries: []query{now("86400 * deriv("+overRange("capacity_bytes")+")", "")}},
			{kind: figure, title: "Given in 30 days", unit: "bytes", width: 6, height: 4, description: "Space that claims will have been given in 30 days, if it goes on as in the chosen time.",
				queries: []query{now("predict_linear("+overRange("capacity_bytes")+", 30 * 86400)", "")}},
			{kind: figure, title: "Used in 30 days", unit: "bytes", width: 6, height: 4, link: "tracker",
				description: "Space that will be used in 30 days, if it goes on as in the chosen time. Namespaces and classes of which a volume has not been measured are left out: see Volumes not measured in the dashboard Tracker.",
				queries:     []query{now("predict_linear("+overRange("used_bytes")+", 30 * 86400)", "")}},
		}}, {"Growth", []panel{
			{kind: lines, title: "Space", unit: "bytes", width: 12, height: 8, link: "tracker",
				description: "Space that claims ask for, have been given and use. Namespaces and classes of which a volume has not been measured are left out of the used space: see Volumes not measured in the dashboard Tracker.",
				queries:     []query{overTime(sum("requested_bytes"), "requested"), overTime(sum("capacity_bytes"), "given"), overTime(sum("used_bytes"), "used")}},
			{kind: lines, title: "Space by day", unit: "bytes", width: 12, height: 8, stacked: true,
				description: "Size of bound and released volumes at the end of each day, by storage class, from the catalog: also of a time that Prometheus no longer has. Of today, the value of now.",
				queries: []query{series(`
					SELECT toDateTime(day, 'UTC') AS time, if(storage_class = '', '(none)', storage_class) AS class, sum(toFloat64(capacity_bytes)) AS space
					FROM space_daily
					WHERE ` + inDays + ` AND ` + inBoth + " AND " + inClass + `
					GROUP BY time, class
					ORDER BY time, class`)}},
			{kind: bars, title: "Namespaces that grow", unit: "bytes", width: 12, height: 9, description: "How much more space the claims of a namespace are given each day: the slope of a line through the chosen time. A namespace that is new has grown from nothing. The ten that grow fastest.",
				queries: []query{now("topk(10, 86400 * sum by (namespace) (deriv("+byNamespace("capacity_bytes")+"[$__range:$__interval]) and on (cluster, namespace) "+perNamespace("capacity_bytes")+"))", "{{namespace}}")}},
			{kind: lines, title: "Volumes created per hour", unit: "short", width: 12, height: 9, description: "How often volumes are created, and how often they were a week before.",
				queries: []query{overTime(created(""), "now"), overTime(created(" offset 1w"), "a week before")}},
			{kind: lines, title: "Claims and volumes created by day", unit: "short", width: 12, height: 8, description: "Objects created on each day (UTC), from the catalog. A claim counts in its namespace, a volume in all; of all storage classes.",
				queries: []query{series(`
					SELECT toDateTime(assumeNotNull(day), 'UTC') AS time, kind, toFloat64(count()) AS created
					FROM
					(
						SELECT toDate(created_at, 'UTC') AS day, 'PersistentVolume' AS kind FROM volumes FINAL WHERE ` + inDays + ` AND ` + inCluster + `
						UNION ALL
						SELECT toDate(created_at, 'UTC') AS day, 'PersistentVolumeClaim' FROM claims FINAL WHERE ` + inDays + ` AND ` + inBoth + `
					)
					GROUP BY time, kind
					ORDER BY time, kind`)}},
			{kind: list, title: "Resizes", unit: "short", width: 12, height: 8, description: "When a larger size was asked for, and when a volume got it, latest first. Of all storage classes.",
				columns: "time:dateTimeAsIso kind namespace name action size actor",
				queries: []query{rowsOf(`
					SELECT time, kind, namespace, name, action, details AS size, actor
					FROM timeline
					WHERE $__timeFilter(time) AND action IN ('resize_requested', 'resized') AND ` + inCluster + ` AND (namespace = '' OR ` + inNamespace + `)
					ORDER BY time DESC, kind, name
					LIMIT 200`)}},
		}}, {"What is full when", []panel{
			{kind: list, title: "Volumes that fill", unit: "short", width: 24, height: 11,
				description: "In how many days no byte can be written any more, if a volume goes on filling as in the chosen time: a line is fitted to its used space by least squares. The alert VolumeFilling looks at one day: choose it to see the same. Only volumes that grow. The report filling looks at inodes, too.",
				columns:     "cluster- volume>volume namespace>namespace claim storage_class days_left growth_per_day:bytes used:bytes available:bytes file_system:bytes",
				queries: []query{rowsOf(`
					WITH
						-- A row of usage holds until the next one, so the line is fitted to the steps between them: moments are seconds before the end.
						steps AS
						(
							SELECT cluster, volume_uid, at, toFloat64(used_bytes) AS used, available_bytes, capacity_bytes,
								greatest(toFloat64(at), toFloat64($__fromTime)) - toFloat64($__toTime) AS a,
								leadInFrame(toFloat64(at), 1, toFloat64($__toTime)) OVER
									(PARTITION BY cluster, volume_uid ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) - toFloat64($__toTime) AS b
							FROM usage FINAL
							WHERE at <= $__toTime AND ` + inCluster + `
						),
						fitted AS
						(
							SELECT cluster, volume_uid, -min(a) AS length, argMax(steps.used, at) AS used, argMax(available_bytes, at) AS available, argMax(capacity_bytes, at) AS file_system,
								12 / pow(length, 3) * (sum(steps.used * (b - a) * (b + a) / 2) + length / 2 * sum(steps.used * (b - a))) AS slope
							FROM steps
							WHERE b >= a
							GROUP BY cluster, volume_uid
							HAVING length > 0 AND slope > 0 AND min(steps.used) < max(steps.used)
						)
					SELECT f.cluster AS cluster, v.name AS volume, v.claim_namespace AS namespace, v.claim_name AS claim, v.storage_class AS storage_class,
						round(f.available / f.slope / 86400, 1) AS days_left, f.slope * 86400 AS growth_per_day, f.used AS used, f.available AS available, f.file_system AS file_system
					FROM fitted AS f
					INNER JOIN
					(
						SELECT cluster, uid, name, claim_namespace, claim_name, storage_class FROM volumes FINAL
						WHERE deleted_at IS NULL AND ` + inCluster + ` AND ` + among("claim_namespace", "namespace") + " AND " + inClass + `
					) AS v ON v.cluster = f.cluster AND v.uid = f.volume_uid
					ORDER BY days_left, volume
					LIMIT 100`)}},
			{kind: lines, title: "CSI capacity in 30 days", unit: "bytes", width: 24, height: 8,
				description: "What a storage class can still provision, and what will be left in 30 days, if it goes on as in the last day. Below 0 it runs out. Empty where no driver says what is left.",
				queries: []query{
					overTime(`min by (storageclass) (kubevoltracker_storage_capacity_bytes{`+ofCluster+`, storageclass=~"$storageclass"})`, "{{storageclass}} now"),
					overTime(`min by (storageclass) (predict_linear(max by (cluster, storageclass, driver, topology) (kubevoltracker_storage_capacity_bytes{`+ofCluster+`, storageclass=~"$storageclass"})[1d:5m], 30 * 86400))`, "{{storageclass}} in 30 days"),
				}},
		}}},
	}
}
