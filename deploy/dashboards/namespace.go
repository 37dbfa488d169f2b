package main

// inTime selects the mounts that lasted at any time in the chosen time, of pods that were created in it or in the week before: the
// condition on pod_created_at keeps ClickHouse from reading all of the history.
const inTime = `started_at <= $__toTime AND (ended_at IS NULL OR ended_at >= $__fromTime) AND pod_created_at >= $__fromTime - INTERVAL 7 DAY`

func namespaces() board {
	owner := choice{name: "owner", label: "Owner", sql: `
		SELECT DISTINCT toString(owner) FROM current_claims
		WHERE owner != '' AND ` + inBoth + `
		ORDER BY 1
		LIMIT 5000`}
	owned := inBoth + " AND " + among("owner", "owner")
	chosen := owned + " AND " + inClass
	return board{
		name: "namespace", title: "Namespace and owner", from: "now-7d",
		question: "How much storage does a namespace or an owner have, what do they use of it, and what do they waste?",
		choices:  []choice{cluster, namespace, owner, storageclass},
		rows: []row{{"Now, of all owners", []panel{
			{kind: figure, title: "Claims", unit: "short", width: 4, height: 4, description: "PersistentVolumeClaims in any phase, of all owners: the metrics do not know which owner is chosen.",
				queries: []query{now(orZero(`sum(max by (cluster, namespace, storageclass, phase) (kubevoltracker_namespace_claims{`+ofClass+`}))`, complete), "")}},
			{kind: figure, title: "Requested", unit: "bytes", width: 4, height: 4, description: "Space that claims of all owners ask for, bound or not.",
				queries: []query{now(orZero("sum("+perNamespace("requested_bytes")+")", complete), "")}},
			{kind: figure, title: "Given", unit: "bytes", width: 4, height: 4, description: "Space that bound claims of all owners have been given.",
				queries: []query{now(orZero("sum("+perNamespace("capacity_bytes")+")", complete), "")}},
			{kind: figure, title: "Used", unit: "bytes", width: 4, height: 4,
				description: "Used space of the bound volumes of all owners, as kubelets reported last. Namespaces and classes of which a volume has not been measured are left out.",
				queries:     []query{now("sum("+perNamespace("used_bytes")+")", "")}},
			{kind: figure, title: "Idle", unit: "bytes", width: 4, height: 4, link: "idle", description: "Size of the bound volumes that nobody uses, of all owners.",
				queries: []query{now(orZero("sum("+perNamespace("idle_bytes")+")", complete), "")}},
			{kind: figure, title: "Longest wait for a volume", unit: "s", width: 4, height: 4, steps: []step{{900, "yellow"}, {3600, "red"}},
				description: "For how long the claim that has waited longest has waited to be bound, of all owners; 0 if none waits.",
				queries:     []query{now("max("+perNamespace("claim_pending_seconds")+")", "")}},
		}}, {"Over time, of all owners", []panel{
			{kind: lines, title: "Space", unit: "bytes", width: 12, height: 8,
				description: "Space that claims of all owners ask for, have been given, use, and leave unused. Namespaces and classes of which a volume has not been measured are left out of the used space.",
				queries: []query{
					overTime("sum("+perNamespace("requested_bytes")+")", "requested"), overTime("sum("+perNamespace("capacity_bytes")+")", "given"),
					overTime("sum("+perNamespace("used_bytes")+")", "used"), overTime("sum("+perNamespace("idle_bytes")+")", "idle"),
				}},
			{kind: lines, title: "Claims by phase", unit: "short", width: 6, height: 8, stacked: true, description: "PersistentVolumeClaims of all owners by phase. Lost: the volume is gone.",
				queries: []query{overTime(`sum by (phase) (max by (cluster, namespace, storageclass, phase) (kubevoltracker_namespace_claims{`+ofClass+`}))`, "{{phase}}")}},
			{kind: lines, title: "Mounts begun and ended per hour", unit: "short", width: 6, height: 8,
				description: "How often containers begin (+) and end (−) to use a volume, of all owners. A restart of a container does neither.",
				queries: []query{
					overTime(`3600 * sum(max by (cluster, namespace) (rate(kubevoltracker_mounts_started_total{`+ofNamespace+`}[$__rate_interval])))`, "+"),
					overTime(`-3600 * sum(max by (cluster, namespace) (rate(kubevoltracker_mounts_ended_total{`+ofNamespace+`}[$__rate_interval])))`, "−"),
				}},
		}}, {"Who has how much", []panel{
			{kind: lines, title: "Space to charge for, by day", unit: "decgbytes", width: 24, height: 7, stacked: true,
				description: "The average space of each day that is over, by owner: gigabyte-days. The days are in UTC. Volumes of claims without an owner are those of (none).",
				queries: []query{series(`
					SELECT toDateTime(day, 'UTC') AS time, if(owner = '', '(none)', owner) AS whose, sum(toFloat64(capacity_byte_seconds)) / 86400 / 1e9 AS given
					FROM byte_seconds_daily FINAL
					WHERE ` + inDays + ` AND (owner != '' OR capacity_byte_seconds != 0) AND ` + chosen + `
					GROUP BY time, whose
					ORDER BY time, whose`)}},
			{kind: list, title: "By namespace and owner", unit: "short", width: 12, height: 10, sortBy: "given",
				description: "The space of claims by namespace and owner of the claim. Unused is the size of the claims that no container uses now.",
				columns:     "cluster- namespace>namespace owner>owner claims requested:bytes given:bytes used:bytes unused:bytes",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, owner, count() AS claims, sum(toFloat64(requested_bytes)) AS requested, sum(toFloat64(capacity_bytes)) AS given,
						sum(toFloat64(used_bytes)) AS used, sumIf(toFloat64(capacity_bytes), NOT in_use) AS unused
					FROM current_claims
					WHERE ` + chosen + `
					GROUP BY cluster, namespace, owner
					ORDER BY given DESC
					LIMIT 200`)}},
			{kind: list, title: "By group", unit: "short", width: 12, height: 10, sortBy: "given",
				description: "The space of claims by group of their owner. A claim of several groups counts in each of them.",
				columns:     "of_group claims given:bytes used:bytes unused:bytes owners",
				queries: []query{rowsOf(`
					SELECT arrayJoin(if(empty(groups), ['(none)'], arrayMap(g -> toString(g), groups))) AS of_group, count() AS claims, sum(toFloat64(capacity_bytes)) AS given,
						sum(toFloat64(used_bytes)) AS used, sumIf(toFloat64(capacity_bytes), NOT in_use) AS unused, uniqExact(owner) AS owners
					FROM current_claims
					WHERE ` + chosen + `
					GROUP BY of_group
					ORDER BY given DESC
					LIMIT 200`)}},
			{kind: list, title: "Largest claims", unit: "short", width: 24, height: 10, sortBy: "given",
				description: "The hundred largest claims with their volume, and whether a container uses it now.",
				columns:     "cluster- namespace>namespace claim volume>volume phase storage_class owner>owner workload>workload given:bytes used:bytes in_use backend created:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, claim, persistentvolume AS volume, phase, storage_class, owner, workload, capacity_bytes AS given, used_bytes AS used,
						in_use, backend, created_at AS created
					FROM current_claims
					WHERE ` + chosen + `
					ORDER BY given DESC, namespace, claim
					LIMIT 100`)}},
		}}, {"Who uses what", []panel{
			{kind: list, title: "In use now", unit: "short", width: 12, height: 10,
				description: "The workloads that have volumes of claims mounted now, by owner of the pod, else of the claim.",
				columns:     "cluster- namespace>namespace owner>owner workload>workload claims pods since:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, owner, workload, uniqExact(claim) AS claims, uniqExact(pod_uid) AS pods, min(started_at) AS since
					FROM current_mounts
					WHERE claim != '' AND ` + owned + `
					GROUP BY cluster, namespace, owner, workload
					ORDER BY claims DESC, namespace, workload
					LIMIT 200`)}},
			{kind: list, title: "Used in the chosen time", unit: "short", width: 12, height: 10,
				description: "The claims that pods had mounted in the chosen time, of pods that are at most a week older. For a long time choose a namespace: all of them take long.",
				columns:     "cluster- namespace>namespace owner>owner claim workloads pods first_used:dateTimeAsIso last_used:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, owner, claim, arrayStringConcat(arraySort(groupUniqArray(workload)), ', ') AS workloads, uniqExact(pod_uid) AS pods,
						min(started_at) AS first_used, max(coalesce(ended_at, now64(6))) AS last_used
					FROM mount_history
					WHERE claim != '' AND ` + inTime + ` AND ` + owned + `
					GROUP BY cluster, namespace, owner, claim
					ORDER BY last_used DESC, namespace, claim
					LIMIT 200`)}},
		}}},
	}
}
