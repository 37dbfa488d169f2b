package main

func workload() board {
	// The workloads with most pods come first: Grafana shows the first one when the dashboard is opened, and whoever creates a pod chooses its name.
	one := choice{name: "workload", label: "Workload", one: true, onLoad: true, inOrder: true, sql: `
		SELECT if(workload_name = '', concat('Pod/', name), concat(workload_kind, '/', workload_name)) AS workload FROM pods
		WHERE ` + inBoth + `
		GROUP BY workload
		ORDER BY count() DESC, max(created_at) DESC, workload
		LIMIT 5000`}
	it := theOne("workload")
	// itsPods are the pods of the workload, by the index of pods on the workload's name. A workload is KIND/NAME; a pod without a
	// controller is a workload of its own.
	name := "substring(" + it + ", position(" + it + ", '/') + 1)"
	itsPods := `FROM pods
							WHERE (workload_name = ` + name + ` OR name = ` + name + `)
								AND ` + inBoth + ` AND created_at <= $__toTime AND (deleted_at IS NULL OR deleted_at >= $__fromTime)`
	its := mountsOf(`SELECT cluster, namespace, claim_name, pod_created_at, pod_uid FROM mounts
							WHERE ` + inBoth + ` AND (cluster, namespace, pod_created_at, pod_uid) IN (SELECT cluster, namespace, created_at, uid ` + itsPods + `)`)
	// Workloads of one name in two namespaces can have claims of one name, too.
	itsMounts := `(SELECT *, concat(cluster, ' ', namespace, '/', claim) AS claim_of FROM ` + its + `)`
	return board{
		name: "workload", title: "Workload", from: "now-30d",
		question: "What storage does this workload mount, what did it mount before, and which claim belongs to which replica?",
		choices:  []choice{cluster, namespace, one},
		rows: []row{{"Now", []panel{
			{kind: figure, title: "Claims mounted", unit: "short", width: 4, height: 4,
				description: "Claims that pods of the workload have mounted now. Workloads of this name in the chosen clusters and namespaces are added up.",
				queries: []query{rowsOf(`
					SELECT uniqExact(claim_uid) AS claims FROM current_mounts
					WHERE workload = ` + it + ` AND claim != '' AND ` + inBoth)}},
			{kind: figure, title: "Pods", unit: "short", width: 4, height: 4,
				description: "Pods of the workload that have a volume mounted now, of any kind. Workloads of this name in the chosen clusters and namespaces are added up.",
				queries: []query{rowsOf(`
					SELECT uniqExact(pod_uid) AS pods FROM current_mounts
					WHERE workload = ` + it + ` AND ` + inBoth)}},
			{kind: figure, title: "Space of the namespace", unit: "bytes", width: 8, height: 4, link: "namespace",
				description: "Space that the claims of the chosen namespaces have been given, of this workload and of all others.",
				queries:     []query{now(orZero("sum(max by (cluster, namespace, storageclass) (kubevoltracker_namespace_capacity_bytes{"+ofNamespace+"}))", complete), "")}},
			{kind: figure, title: "Claims of its templates that nobody uses", unit: "short", width: 8, height: 4, steps: []step{{1, "yellow"}},
				description: "Claims that the StatefulSet made by its templates, and that no container uses: of replicas that were scaled away. StatefulSets of this name in the chosen clusters and namespaces are added up.",
				queries: []query{rowsOf(`
					SELECT countIf(NOT in_use) AS unused FROM current_claims
					WHERE workload = ` + it + ` AND ` + inBoth)}},
			{kind: list, title: "What it mounts", unit: "short", width: 24, height: 9, description: "Each volume that a container of the workload has mounted now, those without a claim (emptyDir, hostPath, ...) included.",
				columns: "cluster- namespace>namespace pod container kind claim volume>volume source backend mount_path read_only node since:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, pod, container, kind, claim, persistentvolume AS volume, source, backend, mount_path, read_only, node, started_at AS since
					FROM current_mounts
					WHERE workload = ` + it + ` AND ` + inBoth + `
					ORDER BY pod, container, mount_path
					LIMIT 500`)}},
			{kind: list, title: "Claims of a StatefulSet by replica", unit: "short", width: 24, height: 8,
				description: "The claims that the StatefulSet made by its templates, by ordinal. Pod is the one that has the claim mounted; it is empty for a replica that was scaled away, whose claim stays.",
				columns:     "cluster- ordinal namespace>namespace claim volume>volume phase given:bytes used:bytes pod node since:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT k.cluster AS cluster, toInt64OrZero(extract(k.claim, '-([0-9]+)$')) AS ordinal, k.namespace AS namespace, k.claim AS claim, k.persistentvolume AS volume,
						k.phase AS phase, k.capacity_bytes AS given, k.used_bytes AS used, m.pod AS pod, m.node AS node, m.since AS since
					FROM (SELECT * FROM current_claims WHERE workload = ` + it + ` AND ` + inBoth + `) AS k
					LEFT JOIN
					(
						SELECT cluster, claim_uid, any(pod) AS pod, any(node) AS node, min(toNullable(started_at)) AS since
						FROM current_mounts
						WHERE workload = ` + it + ` AND ` + inBoth + `
						GROUP BY cluster, claim_uid
					) AS m ON m.cluster = k.cluster AND m.claim_uid = k.uid
					ORDER BY namespace, ordinal, claim
					LIMIT 500
					SETTINGS join_use_nulls = 1`)}},
		}}, {"Before", []panel{
			{kind: states, title: "Pods by claim", unit: "short", width: 24, height: 8, steps: []step{{1, "green"}, {2, "dark-green"}},
				description: "How many pods of the workload had each claim mounted, by cluster, namespace and claim. A use of which the end was not seen counts until the latest moment at which it can have ended.",
				queries:     []query{series(podsOverTime(itsMounts, "claim != '' AND workload = "+it, "claim_of"))}},
			{kind: list, title: "What it mounted", unit: "short", width: 24, height: 9, description: "The claims and backing stores that the workload had mounted at any time in the chosen time, latest first.",
				columns: "cluster- namespace>namespace claim volume>volume source backend pods first_used:dateTimeAsIso last_used:dateTimeAsIso ended",
				queries: []query{rowsOf(`
					SELECT m.cluster AS cluster, m.namespace AS namespace, m.claim AS claim, v.name AS volume, m.source AS source,
						trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend, uniqExact(m.pod_uid) AS pods,
						min(m.started_at) AS first_used, max(coalesce(m.ended_at, now64(6))) AS last_used,
						if(countIf(m.ended_at IS NULL) > 0, '', arrayStringConcat(groupUniqArray(m.end_reason), ', ')) AS ended
					FROM ` + its + ` AS m
					LEFT JOIN (SELECT cluster, uid, name FROM volumes FINAL) AS v ON v.cluster = m.cluster AND v.uid = m.volume_uid
					LEFT JOIN (SELECT cluster, id, driver, server, path FROM volume_sources FINAL) AS s ON s.cluster = m.cluster AND s.id = m.source_id
					WHERE m.workload = ` + it + `
					GROUP BY cluster, namespace, claim, volume, source, backend
					ORDER BY last_used DESC, claim
					LIMIT 200`)}},
			{kind: lines, title: "Hours of use by day", unit: "h", width: 24, height: 7, description: "For how many hours of each day that is over, in UTC, at least one pod of the workload used the claim. Pods of several owners count one after the other, up to all of the day.",
				queries: []query{series(`
					SELECT toDateTime(day, 'UTC') AS time, cluster, concat(namespace, '/', claim_name) AS claim, least(sum(use_seconds), 86400) / 3600 AS used
					FROM use_seconds_daily FINAL
					PREWHERE workload_name = ` + name + `
					WHERE concat(workload_kind, '/', workload_name) = ` + it + ` AND ` + inDays + ` AND ` + inBoth + `
					GROUP BY time, cluster, claim
					ORDER BY time, cluster, claim`)}},
		}}},
	}
}
