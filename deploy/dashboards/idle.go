package main

func idle() board {
	return board{
		name: "idle", title: "Idle and orphaned", from: "now-30d",
		question: "Which storage does nobody use, for how long, who used it last, and can it go?",
		choices:  []choice{cluster, namespace, storageclass},
		rows: []row{{"", []panel{
			{kind: figure, title: "Idle space", unit: "bytes", width: 4, height: 4,
				description: "Size of the bound volumes that no container uses and no pod awaits.",
				queries:     []query{now(orZero("sum("+perNamespace("idle_bytes")+")", complete), "")}},
			{kind: figure, title: "Idle share", unit: "percentunit", width: 4, height: 4, steps: []step{{0.25, "yellow"}, {0.5, "red"}},
				description: "The idle part of the space that bound claims have been given.",
				queries:     []query{now("sum("+perNamespace("idle_bytes")+") / sum("+perNamespace("capacity_bytes")+")", "")}},
			{kind: figure, title: "Idle volumes", unit: "short", width: 4, height: 4,
				description: "Bound volumes that no container uses and no pod awaits, whether used before or never.",
				queries:     []query{now(orZero("sum("+perNamespace("idle_volumes")+")", complete), "")}},
			{kind: figure, title: "Never mounted", unit: "short", width: 4, height: 4, steps: []step{{1, "yellow"}},
				description: "Bound volumes of which no use is known.",
				queries:     []query{now(inState(`, state="never_mounted"`), "")}},
			{kind: figure, title: "Released or failed", unit: "short", width: 4, height: 4, steps: []step{{1, "yellow"}},
				description: "Volumes whose claim is gone and that have not been reclaimed.",
				queries:     []query{now(inState(`, state=~"released|failed"`), "")}},
			{kind: figure, title: "Released space", unit: "bytes", width: 4, height: 4, steps: []step{{1, "yellow"}},
				description: "Size of the volumes whose claim is gone. No quota counts it, and somebody pays for it.",
				queries: []query{rowsOf(`
					SELECT sum(toFloat64(capacity_bytes)) AS released
					FROM idle_volumes
					WHERE state = 'released' AND ` + inBoth + " AND " + inClass)}},
		}}, {"Trend", []panel{
			{kind: lines, title: "Idle space by namespace", unit: "bytes", width: 8, height: 8,
				description: "Size of the bound volumes that nobody uses: the ten namespaces with most.",
				queries:     []query{overTime("topk(10, sum by (namespace) ("+perNamespace("idle_bytes")+"))", "{{namespace}}")}},
			{kind: lines, title: "Idle space on average", unit: "bytes", width: 8, height: 8,
				description: "The idle space of each moment, averaged over the interval of the graph by the counter namespace_idle_byte_seconds_total: volumes that were idle between two scrapes count, too.",
				queries:     []query{overTime("sum by (storageclass) (max by (cluster, namespace, storageclass) (rate(kubevoltracker_namespace_idle_byte_seconds_total{"+ofClass+"}[$__rate_interval])))", "{{storageclass}}")}},
			{kind: lines, title: "Idle space by day", unit: "bytes", width: 8, height: 8, stacked: true,
				description: "The average idle space of each day that is over, by namespace: the history of the catalog, which Prometheus may no longer have. The ten namespaces with most.",
				queries: []query{series(`
					SELECT toDateTime(day, 'UTC') AS time, namespace, sum(toFloat64(idle_byte_seconds)) / 86400 AS idle
					FROM byte_seconds_daily FINAL
					WHERE ` + inDays + ` AND ` + inBoth + " AND " + inClass + `
						AND namespace IN
						(
							SELECT namespace FROM byte_seconds_daily
							WHERE ` + inDays + ` AND idle_byte_seconds != 0 AND ` + inBoth + " AND " + inClass + `
							GROUP BY namespace ORDER BY sum(toFloat64(idle_byte_seconds)) DESC LIMIT 10
						)
					GROUP BY time, namespace
					ORDER BY time, namespace`)}},
		}}, {"Volumes that nobody uses", []panel{
			{kind: bars, title: "Space by how long it was watched idle", unit: "bytes", width: 8, height: 8,
				description: "Idle and released space by the time for which a tracker watched that nobody used it, or for which the claim's condition Unused vouches.",
				queries: []query{rowsOf(`
					SELECT
						multiIf(observed_seconds >= 31536000, '1 year and more', observed_seconds >= 7776000, '90 days to 1 year', observed_seconds >= 2592000, '30 to 90 days',
							observed_seconds >= 604800, '7 to 30 days', 'less than 7 days') AS watched,
						sum(toFloat64(capacity_bytes)) AS space
					FROM idle_volumes
					WHERE ` + inBoth + " AND " + inClass + `
					GROUP BY watched
					ORDER BY min(observed_seconds)`)}},
			{kind: list, title: "By state, class and reclaim policy", unit: "short", width: 16, height: 8, sortBy: "capacity",
				description: "How many volumes nobody uses, and their size. idle: used before. never_mounted: bound, and no use is known. released: the claim is gone. With the policy Delete a volume goes with its claim, with Retain somebody has to delete it.",
				columns:     "state storage_class reclaim_policy volumes capacity:bytes used:bytes longest_watched:s",
				queries: []query{rowsOf(`
					SELECT state, storage_class, reclaim_policy, count() AS volumes, sum(toFloat64(capacity_bytes)) AS capacity,
						sum(toFloat64(used_bytes)) AS used, max(observed_seconds) AS longest_watched
					FROM idle_volumes
					WHERE ` + inBoth + " AND " + inClass + `
					GROUP BY state, storage_class, reclaim_policy
					ORDER BY capacity DESC`)}},
			{kind: list, title: "Longest idle volumes", unit: "short", width: 24, height: 12,
				description: "The hundred volumes that were watched idle for longest. Watched is the time for which a tracker watched that nobody used the volume, or for which the claim's condition Unused vouches. Idle is the longest that it can be: the two differ by the time before the first tracker came and by gaps. Delete by Watched, and not before the date that an annotation kubevoltracker.io/keep names. The last user is empty if no use is known.",
				columns:     "cluster- volume>volume state watched:s idle:s namespace>namespace claim storage_class capacity:bytes used:bytes reclaim_policy last_used:dateTimeAsIso last_namespace>namespace last_workload last_pod keep_until:dateTimeAsIso keep_reason",
				queries: []query{rowsOf(`
					SELECT cluster, volume, state, observed_seconds AS watched, idle_seconds AS idle, namespace, claim, storage_class,
						capacity_bytes AS capacity, used_bytes AS used, reclaim_policy, last_used_at AS last_used, last_namespace, last_workload, last_pod, keep_until, keep_reason
					FROM idle_volumes
					WHERE ` + inBoth + " AND " + inClass + `
					ORDER BY watched DESC, idle DESC, volume
					LIMIT 100`)}},
		}}, {"Orphaned", []panel{
			{kind: list, title: "Volumes without a claim", unit: "short", width: 24, height: 8, sortBy: "capacity",
				description: "Volumes that are released or failed, and those that are available: no claim has them. A released volume keeps its data until somebody deletes it.",
				columns:     "cluster- volume>volume phase since:dateTimeAsIso namespace>namespace claim storage_class reclaim_policy capacity:bytes backend last_workload",
				queries: []query{rowsOf(`
					SELECT cluster, persistentvolume AS volume, phase, phase_changed_at AS since, namespace, claim, storage_class, reclaim_policy,
						capacity_bytes AS capacity, backend, last_workload
					FROM current_volumes
					WHERE phase IN ('Released', 'Failed', 'Available') AND ` + inBoth + " AND " + inClass + `
					ORDER BY capacity DESC, volume
					LIMIT 100`)}},
			{kind: list, title: "Claims without a volume", unit: "short", width: 24, height: 8,
				description: "Claims that are pending or lost. A claim of a class that binds at first use is pending until a pod needs it.",
				columns:     "cluster- namespace>namespace claim phase storage_class owner>owner requested:bytes created:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, claim, phase, storage_class, owner, requested_bytes AS requested, created_at AS created
					FROM current_claims
					WHERE phase != 'Bound' AND ` + inBoth + " AND " + inClass + `
					ORDER BY created, namespace, claim
					LIMIT 100`)}},
		}}},
	}
}
