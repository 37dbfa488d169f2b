package main

func backends() board {
	return board{
		name: "backends", title: "Backends", from: "now-7d", refresh: "5m",
		question: "On which backing stores is the storage, how much can they still provision, and what uses space without a claim?",
		choices:  []choice{cluster, namespace, storageclass},
		rows: []row{{"Where the volumes are", []panel{
			{kind: bars, title: "Volumes by source and driver", unit: "short", width: 8, height: 9, description: "PersistentVolumes by kind of their backing store and by CSI or flexVolume driver.",
				queries: []query{now(`sort_desc(count by (source, driver) (group by (cluster, persistentvolume, source, driver) (kubevoltracker_volume_info{`+ofClass+`})))`, "{{source}} {{driver}}")}},
			{kind: list, title: "Space by server", unit: "short", width: 16, height: 9, sortBy: "capacity",
				description: "Volumes by source, driver and the server of the backing store: a host, a portal or monitors. A CSI driver names none; its volumes are counted by driver.",
				columns:     "cluster- source driver server volumes capacity:bytes used:bytes not_bound",
				queries: []query{rowsOf(`
					SELECT v.cluster AS cluster, v.source_kind AS source, v.driver AS driver, s.server AS server, count() AS volumes, sum(toFloat64(v.capacity_bytes)) AS capacity,
						sum(toFloat64(l.used)) AS used, countIf(v.phase != 'Bound') AS not_bound
					FROM
					(
						SELECT cluster, uid, source_kind, source_id, driver, capacity_bytes, phase FROM volumes FINAL
						WHERE deleted_at IS NULL AND ` + inCluster + ` AND ` + among("claim_namespace", "namespace") + " AND " + inClass + `
					) AS v
					LEFT JOIN (SELECT cluster, id, server FROM volume_sources FINAL) AS s ON s.cluster = v.cluster AND s.id = v.source_id
					LEFT JOIN (SELECT cluster, volume_uid, toNullable(used_bytes) AS used FROM last_usage FINAL) AS l ON l.cluster = v.cluster AND l.volume_uid = v.uid
					GROUP BY cluster, source, driver, server
					ORDER BY capacity DESC
					LIMIT 200`)}},
			{kind: list, title: "Storage classes", unit: "short", width: 24, height: 8, description: "The storage classes of the cluster, with the space of the volumes that they have made.",
				columns: "cluster- class provisioner reclaim_policy binding_mode expansion volumes capacity:bytes created:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT c.cluster AS cluster, c.name AS class, c.provisioner AS provisioner, c.reclaim_policy AS reclaim_policy, c.binding_mode AS binding_mode,
						c.expansion AS expansion, v.volumes AS volumes, v.capacity AS capacity, c.created_at AS created
					FROM (SELECT * FROM storage_classes FINAL WHERE deleted_at IS NULL AND ` + inCluster + ` AND ` + among("name", "storageclass") + `) AS c
					LEFT JOIN
					(
						SELECT cluster, storage_class, count() AS volumes, sum(toFloat64(capacity_bytes)) AS capacity
						FROM volumes FINAL
						WHERE deleted_at IS NULL AND ` + inCluster + " AND " + inClass + `
						GROUP BY cluster, storage_class
					) AS v ON v.cluster = c.cluster AND v.storage_class = c.name
					ORDER BY class`)}},
		}}, {"What they can still provision", []panel{
			{kind: lines, title: "CSI capacity", unit: "bytes", width: 12, height: 8, description: "What each CSI driver says that it can still provision, by storage class and part of the cluster. Empty where no driver says it.",
				queries: []query{overTime(`min by (cluster, storageclass, topology) (kubevoltracker_storage_capacity_bytes{`+ofCluster+`, storageclass=~"$storageclass"})`, "{{cluster}} {{storageclass}} {{topology}}")}},
			{kind: list, title: "Largest volume that fits", unit: "short", width: 12, height: 8,
				description: "What each CSI driver reported last: the space that is left for a part of the cluster, and the size of the largest volume that it can make, where the driver says it. A part of which the driver says no amount, or no longer, is not here.",
				columns:     "cluster- storage_class driver topology left:bytes largest:bytes reported:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, storage_class, last.1 AS driver, topology, max(last.2) AS left, nullIf(argMax(last.3, last.2), 0) AS largest, argMax(reported_at, last.2) AS reported
					FROM
					(
						SELECT cluster, storage_class, topology, argMax((driver, capacity_bytes, maximum_volume_bytes), at) AS last, max(at) AS reported_at
						FROM storage_capacity FINAL
						WHERE ` + inCluster + " AND " + inClass + `
						GROUP BY cluster, storage_class, topology, uid
					)
					WHERE last.2 IS NOT NULL
					GROUP BY cluster, storage_class, driver, topology
					ORDER BY left
					LIMIT 200`)}},
			{kind: lines, title: "Volumes created and deleted per hour", unit: "short", width: 24, height: 7, description: "How often volumes come (+) and go (−), by kind of the backing store.",
				queries: []query{
					overTime(`3600 * sum by (source) (max by (cluster, storageclass, source) (rate(kubevoltracker_volumes_created_total{`+ofCluster+`, storageclass=~"$storageclass"}[$__rate_interval])))`, "+ {{source}}"),
					overTime(`-3600 * sum by (source) (max by (cluster, storageclass, source) (rate(kubevoltracker_volumes_deleted_total{`+ofCluster+`, storageclass=~"$storageclass"}[$__rate_interval])))`, "− {{source}}"),
				}},
		}}, {"Without a claim of its own", []panel{
			{kind: list, title: "Backing stores that pods name themselves", unit: "short", width: 12, height: 9,
				description: "Volumes in pods without a claim: emptyDir, hostPath, nfs, CSI inline and others. Nothing limits most of them, and no quota counts them.",
				columns:     "cluster- namespace>namespace source backend workload>workload pods since:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, source, backend, workload, uniqExact(pod_uid) AS pods, min(started_at) AS since
					FROM current_mounts
					WHERE claim = '' AND ` + inBoth + `
					GROUP BY cluster, namespace, source, backend, workload
					ORDER BY pods DESC, namespace, workload
					LIMIT 200`)}},
			{kind: list, title: "Claims that live with their pod", unit: "short", width: 12, height: 9, description: "Claims of generic ephemeral volumes: each is made for one pod, and deleted with it.",
				columns: "cluster- namespace>namespace claim volume>volume storage_class workload>workload given:bytes created:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, claim, persistentvolume AS volume, storage_class, workload, capacity_bytes AS given, created_at AS created
					FROM current_claims
					WHERE ephemeral AND ` + inBoth + " AND " + inClass + `
					ORDER BY created DESC, claim
					LIMIT 200`)}},
		}}, {"Attachments", []panel{
			{kind: list, title: "Volumes by node", unit: "short", width: 12, height: 8, sortBy: "attached", description: "How many volumes are attached to each node by each driver, and how many wait for it. A node can have a limit.",
				columns: "cluster- node attacher attached waiting",
				queries: []query{rowsOf(`
					SELECT cluster, node, attacher, countIf(a.attached) AS attached, countIf(NOT a.attached) AS waiting
					FROM attachments AS a FINAL
					WHERE detached_at IS NULL AND ` + inCluster + `
					GROUP BY cluster, node, attacher
					ORDER BY attached DESC, waiting DESC, node
					LIMIT 200`)}},
			{kind: list, title: "Attachments that fail", unit: "short", width: 12, height: 8, description: "Attachments with an error of attaching or detaching: pods wait for them.",
				columns: "cluster- volume>volume node attacher error",
				queries: []query{rowsOf(`
					SELECT a.cluster AS cluster, v.name AS volume, a.node AS node, a.attacher AS attacher, a.error AS error
					FROM (SELECT * FROM attachments FINAL WHERE detached_at IS NULL AND error != '' AND ` + inCluster + `) AS a
					LEFT JOIN (SELECT cluster, uid, name FROM volumes FINAL) AS v ON v.cluster = a.cluster AND v.uid = a.volume_uid
					ORDER BY volume, node
					LIMIT 200`)}},
		}}},
	}
}
