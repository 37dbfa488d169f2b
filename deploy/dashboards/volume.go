package main

// The volumes that have the chosen name, also deleted ones, and the claims that they had. A volume that was bound before the first
// tracker came has its claim in its own row.
var (
	theVolume  = theOne("volume")
	itsVolumes = `SELECT cluster, uid FROM volumes FINAL WHERE name = ` + theVolume + ` AND ` + inCluster
	itsClaims  = `SELECT cluster, namespace, claim_name FROM bindings WHERE (cluster, volume_uid) IN (` + itsVolumes + `)
						UNION DISTINCT
						SELECT cluster, claim_namespace, claim_name FROM volumes FINAL WHERE name = ` + theVolume + ` AND ` + inCluster
	// itsObjects are the volume and its claims, by UID.
	itsObjects = `(
						` + itsVolumes + `
						UNION ALL
						SELECT cluster, claim_uid FROM bindings FINAL WHERE (cluster, volume_uid) IN (` + itsVolumes + `)
						UNION ALL
						SELECT cluster, uid FROM attachments FINAL WHERE (cluster, volume_uid) IN (` + itsVolumes + `)
					)`
)

// mountsOf selects mounts by their keys, with the names of pod, workload, owner and volume: what the view mount_history has. A query on the
// view reads the pods and containers of all namespaces unless it names one, which takes seconds at ten million mounts. This one reads the pods
// of these mounts alone.
func mountsOf(keys string) string {
	return `(
						SELECT m.cluster AS cluster, m.namespace AS namespace, p.name AS pod, m.pod_uid AS pod_uid, m.container AS container,
							if(p.workload_name = '', concat('Pod/', p.name), concat(p.workload_kind, '/', p.workload_name)) AS workload,
							if(p.owner != '', p.owner, k.owner) AS owner, p.node AS node, m.mount_path AS mount_path, m.read_only AS read_only, m.claim_name AS claim,
							if(m.volume_uid != '', m.volume_uid, k.volume_uid) AS volume_uid, m.source_kind AS source, m.source_id AS source_id,
							m.started_at AS started_at, m.ended_at AS ended_at, m.ended_not_before AS ended_not_before, m.end_reason AS end_reason
						FROM
						(
							SELECT *, ended_not_before FROM mounts FINAL
							WHERE (cluster, namespace, claim_name, pod_created_at, pod_uid) IN (` + keys + `)
								AND started_at <= $__toTime AND (ended_at IS NULL OR ended_at >= $__fromTime)
						) AS m
						LEFT JOIN
						(
							SELECT cluster, namespace, uid, name, node, owner, workload_kind, workload_name FROM pods FINAL
							WHERE (cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM (` + keys + `))
						) AS p ON p.cluster = m.cluster AND p.namespace = m.namespace AND p.uid = m.pod_uid
						LEFT JOIN (SELECT cluster, uid, owner, volume_uid FROM claims FINAL) AS k ON k.cluster = m.cluster AND k.uid = m.claim_uid
					)`
}

// podsOverTime is a series for each value of a column (workload or claim_of): how many pods had a mount, as mountsOf selects them, that a condition
// chooses. A mount that began before the chosen time counts from its beginning.
func podsOverTime(mounts, condition, by string) string {
	return `
					WITH uses AS
					(
						SELECT ` + by + `, pod_uid, greatest(min(started_at), toDateTime64($__fromTime, 6)) AS began, if(countIf(ended_at IS NULL) > 0, NULL, max(ended_at)) AS ended
						FROM ` + mounts + `
						WHERE ` + condition + `
						GROUP BY ` + by + `, pod_uid
					)
					SELECT time, ` + by + `, toFloat64(sum(step) OVER (PARTITION BY ` + by + ` ORDER BY time)) AS pods
					FROM
					(
						SELECT toDateTime64(began, 3) AS time, ` + by + `, sum(change) AS step
						FROM
						(
							SELECT began, ` + by + `, 1 AS change FROM uses
							UNION ALL
							SELECT assumeNotNull(ended), ` + by + `, -1 FROM uses WHERE ended IS NOT NULL
						)
						GROUP BY time, ` + by + `
					)
					ORDER BY time, ` + by
}

func volume() board {
	its := mountsOf(`SELECT cluster, namespace, claim_name, pod_created_at, pod_uid FROM mounts WHERE (cluster, namespace, claim_name) IN (` + itsClaims + `)`)
	ofIt := `(cluster, volume_uid) IN (` + itsVolumes + `)`
	// The volumes of two clusters can have the same name: one is in use, and the other one can go. All is for who has named
	// a cluster differently in Prometheus and in the catalog.
	itsCluster := cluster
	itsCluster.one, itsCluster.orAll = true, true
	// Prometheus lists the volumes: in the default installation Grafana does not reach ClickHouse. A link can name a volume that only
	// the catalog has.
	one := choice{name: "volume", label: "Volume", one: true, onLoad: true, expr: `label_values(kubevoltracker_volume_info{` + ofNamespace + `}, persistentvolume)`}
	of := func(metric string) string {
		return ofTrackers(metric) + `(kubevoltracker_volume_` + metric + `{` + ofCluster + `, persistentvolume="$volume"})`
	}
	return board{
		name: "volume", title: "Volume", from: "now-30d",
		question: "What is this volume, who mounted it, when, how full is it, and what happened to it?",
		choices:  []choice{itsCluster, namespace, one},
		notes: []note{{"Resized, released or failed", `
			SELECT time, text FROM timeline
			WHERE $__timeFilter(time) AND action IN ('resized', 'phase', 'released', 'deleted') AND (cluster, uid) IN ` + itsObjects + `
			ORDER BY time`}},
		rows: []row{{"", []panel{
			{kind: figure, title: "Size", unit: "bytes", width: 4, height: 4, description: "Size of the volume, as its PersistentVolume says.", queries: []query{now(of("capacity_bytes"), "")}},
			{kind: figure, title: "Used", unit: "bytes", width: 4, height: 4, description: "Used space of its file system, as a kubelet reported last. Block devices have none. Of a directory on a shared file system it is that of all of it.",
				queries: []query{now(of("used_bytes"), "")}},
			{kind: figure, title: "Containers", unit: "short", width: 4, height: 4, description: "How many containers use the volume now.", queries: []query{now(of("mounts"), "")}},
			{kind: figure, title: "Idle", unit: "s", width: 4, height: 4, description: "For how long nobody has used the volume, the longest it can be; 0 while a container uses it or a pod awaits it.",
				queries: []query{now(of("idle_seconds"), "")}},
			{kind: figure, title: "Watched idle", unit: "s", width: 4, height: 4, description: "The part of the idle time that a tracker watched, or that the claim's condition Unused vouches for. Delete by this.",
				queries: []query{now(of("idle_observed_seconds"), "")}},
			{kind: figure, title: "Last used", unit: "dateTimeFromNow", width: 4, height: 4, description: "When the last use of the volume ended. Empty while it is in use, and if no use is known.",
				queries: []query{now("1000 * "+of("last_used_timestamp_seconds"), "")}},
			{kind: list, title: "What it is", unit: "short", width: 24, height: 4, description: "The PersistentVolume with its claim and its backing store. Empty once it is deleted: the panels below still have its history.",
				columns: "cluster- volume phase namespace>namespace claim storage_class source backend handle size:bytes access_modes reclaim_policy created:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT cluster, persistentvolume AS volume, phase, namespace, claim, storage_class, source, backend, volume_handle AS handle, capacity_bytes AS size,
						arrayStringConcat(access_modes, ', ') AS access_modes, reclaim_policy, created_at AS created
					FROM current_volumes
					WHERE persistentvolume = ` + theVolume + ` AND ` + inCluster)}},
		}}, {"Who used it, and when", []panel{
			{kind: states, title: "State", unit: "short", width: 24, height: 5, steps: []step{{1, "green"}},
				description: "What the volume was doing, a line for each state: mounted, pending (a pod that has not started awaits it), idle, never_mounted, available, released or failed. Gaps are times in which Prometheus reached no tracker.",
				queries:     []query{overTime(`max by (state) (kubevoltracker_volume_state{`+ofCluster+`, persistentvolume="$volume"})`, "{{state}}")}},
			{kind: states, title: "Pods by workload", unit: "short", width: 24, height: 7, steps: []step{{1, "green"}, {2, "dark-green"}},
				description: "How many pods of each workload had the volume mounted, from the catalog: also of a time that Prometheus no longer has. A use of which the end was not seen counts until the latest moment at which it can have ended.",
				queries:     []query{series(podsOverTime(its, ofIt, "workload"))}},
			{kind: list, title: "Mounts", unit: "short", width: 24, height: 10,
				description: "The uses of the volume that lasted at any time in the chosen time, latest first. Where the end was not seen, Ended is the latest that it can have been, and Ended not before the earliest.",
				columns:     "cluster- namespace>namespace pod container workload>workload owner>owner node mount_path read_only claim started:dateTimeAsIso ended:dateTimeAsIso ended_not_before:dateTimeAsIso end_reason",
				queries: []query{rowsOf(`
					SELECT cluster, namespace, pod, container, workload, owner, node, mount_path, read_only, claim, started_at AS started, ended_at AS ended,
						if(ended_not_before = ended_at, NULL, ended_not_before) AS ended_not_before, end_reason
					FROM ` + its + `
					WHERE ` + ofIt + `
					ORDER BY started DESC, pod, container
					LIMIT 500`)}},
		}}, {"How full it is", []panel{
			{kind: lines, title: "Used against provisioned", unit: "bytes", width: 12, height: 8, description: "The size of the volume, its used space and the space that containers can still write to, as kubelets reported.",
				queries: []query{overTime(of("capacity_bytes"), "size"), overTime(of("used_bytes"), "used"), overTime(of("available_bytes"), "available")}},
			{kind: lines, title: "Used share", unit: "percentunit", width: 6, height: 8, description: "Used part of the bytes and of the inodes of the file system. Of a directory on a shared file system, as NFS has them, that is the part of all of it. Some file systems have no fixed number of inodes.",
				queries: []query{
					overTime(of("used_bytes")+" / ("+of("used_bytes")+" + "+of("available_bytes")+")", "bytes"),
					overTime(of("inodes_used")+" / "+of("inodes"), "inodes"),
				}},
			{kind: lines, title: "Used, from the catalog", unit: "bytes", width: 6, height: 8,
				description: "Used space of the volume from the catalog, also of a time that Prometheus no longer has: a point for each change that a kubelet reported, for the beginning of the chosen time, and for its end.",
				queries: []query{series(`
					SELECT
						arrayJoin([toDateTime(greatest(at, $__fromTime)), toDateTime(least(coalesce(deleted_at, now()), $__toTime))]) AS time,
						argMax(toFloat64(used_bytes), at) AS used, argMax(toFloat64(capacity_bytes), at) AS file_system
					FROM (SELECT cluster, volume_uid, at, used_bytes, capacity_bytes FROM usage FINAL WHERE (cluster, volume_uid) IN (` + itsVolumes + `) AND at <= $__toTime) AS u
					INNER JOIN
					(
						SELECT cluster, uid, deleted_at FROM volumes FINAL
						WHERE name = ` + theVolume + ` AND ` + inCluster + ` AND (deleted_at IS NULL OR deleted_at >= $__fromTime)
					) AS v ON v.cluster = u.cluster AND v.uid = u.volume_uid
					GROUP BY time
					ORDER BY time`)}},
			{kind: list, title: "Resizes", unit: "short", width: 24, height: 5, description: "When a larger size was asked for, and when the volume got it, and by whom. All of its history.",
				columns: "time:dateTimeAsIso kind name action size actor",
				queries: []query{rowsOf(`
					SELECT time, kind, name, action, details AS size, actor
					FROM timeline
					WHERE action IN ('resize_requested', 'resized') AND (cluster, uid) IN ` + itsObjects + `
					ORDER BY time DESC`)}},
		}}, {"What happened to it", []panel{
			{kind: list, title: "Events", unit: "short", width: 24, height: 10, description: "Changes of the volume, its claims and its attachments in the chosen time, latest first.",
				columns: "time:dateTimeAsIso kind namespace name action details actor",
				queries: []query{rowsOf(`
					SELECT time, kind, namespace, name, action, details, actor
					FROM timeline
					WHERE $__timeFilter(time) AND (cluster, uid) IN ` + itsObjects + `
					ORDER BY time DESC, kind, name
					LIMIT 500`)}},
			{kind: list, title: "Claims that had it", unit: "short", width: 12, height: 7, description: "The claims that the volume was bound to, latest first.",
				columns: "cluster- namespace>namespace claim owner>owner bound:dateTimeAsIso released:dateTimeAsIso released_not_before:dateTimeAsIso",
				queries: []query{rowsOf(`
					SELECT b.cluster AS cluster, b.namespace AS namespace, b.claim_name AS claim, k.owner AS owner, b.bound_at AS bound, b.released_at AS released,
						b.released_not_before AS released_not_before
					FROM (SELECT * FROM bindings FINAL WHERE (cluster, volume_uid) IN (` + itsVolumes + `)) AS b
					LEFT JOIN (SELECT cluster, uid, owner FROM claims FINAL WHERE uid IN (SELECT claim_uid FROM bindings WHERE (cluster, volume_uid) IN (` + itsVolumes + `))) AS k
						ON k.cluster = b.cluster AND k.uid = b.claim_uid
					ORDER BY bound DESC`)}},
			{kind: list, title: "Attachments", unit: "short", width: 12, height: 7, description: "The nodes that the volume was attached to, or that wait for it, latest first, and the last error.",
				columns: "node attacher created:dateTimeAsIso attached:dateTimeAsIso detached:dateTimeAsIso error",
				queries: []query{rowsOf(`
					SELECT node, attacher, created_at AS created, attached_at AS attached, detached_at AS detached, error
					FROM attachments FINAL
					WHERE (cluster, volume_uid) IN (` + itsVolumes + `)
					ORDER BY created DESC
					LIMIT 100`)}},
			{kind: states, title: "Watched", unit: "short", width: 24, height: 5, steps: []step{{1, "blue"}},
				description: "When trackers watched the pods of the cluster: 1. In a gap, 0, a pod may have used the volume and gone unseen; idle times count it as possible use.",
				queries:     []query{series(watchedOverTime)}},
		}}},
	}
}

// watchedOverTime is 1 while at least one tracker watched pods, and 0 in the gaps between, for each cluster. A span that has no end, and that
// nobody has confirmed for five minutes, ended when it was last confirmed: as the report coverage has it.
var watchedOverTime = `
					SELECT time, cluster, toFloat64(sum(step) OVER (PARTITION BY cluster ORDER BY time) > 0) AS watched
					FROM
					(
						SELECT toDateTime64(moment, 3) AS time, cluster, sum(change) AS step
						FROM
						(
							SELECT greatest(started_at, toDateTime64($__fromTime, 6)) AS moment, toString(cluster) AS cluster, 1 AS change
							FROM coverage FINAL
							WHERE kind = 'Pod' AND started_at <= $__toTime AND coalesce(ended_at, seen_at) >= $__fromTime AND ` + inCluster + `
							UNION ALL
							SELECT coalesce(ended_at, seen_at) AS until, toString(cluster), -1
							FROM coverage FINAL
							WHERE kind = 'Pod' AND (ended_at IS NOT NULL OR seen_at < now() - INTERVAL 5 MINUTE) AND until BETWEEN $__fromTime AND $__toTime AND ` + inCluster + `
						)
						GROUP BY time, cluster
					)
					ORDER BY time, cluster`
