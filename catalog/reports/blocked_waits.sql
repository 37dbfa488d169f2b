{{- /* Included by blocked.sql and blocked-found.sql: the tables wanted, of Pending pods and claims that they name; deleting, of claims that are to be deleted;
and awaited, of the claims in these. */ -}}
(
    SELECT groupArray((toString(cluster), toString(namespace), uid, name, toString(node), created_at, toString(owner), CAST(groups, 'Array(String)'),
        if(workload_name = '', concat('Pod/', name), concat(workload_kind, '/', workload_name)), started_at IS NOT NULL))
    FROM pods FINAL
    {{template "pending.sql"}}
) AS pending_list,
pending AS
(
    SELECT p.1 AS cluster, p.2 AS namespace, p.3 AS uid, p.4 AS name, p.5 AS node, p.6 AS created_at, p.7 AS owner, p.8 AS groups, p.9 AS workload, p.10 AS is_started
    FROM (SELECT arrayJoin(pending_list) AS p)
),
(
    SELECT groupArray((p.cluster, p.namespace, p.uid, o.claim, p.name, p.node, p.created_at, p.owner, p.groups, p.workload, p.is_started))
    FROM pending AS p
    INNER JOIN
    (
        SELECT cluster, uid, arrayJoin(claims) AS claim
        FROM
        (
            SELECT cluster, uid, argMax((name, JSONExtractArrayRaw(object, 'spec', 'volumes')), observed_at) AS last,
                arrayDistinct(arrayFilter(x -> x != '', arrayMap(
                    v -> multiIf(
                        JSONHas(v, 'persistentVolumeClaim'), JSONExtractString(v, 'persistentVolumeClaim', 'claimName'),
                        JSONHas(v, 'ephemeral'), concat(last.1, '-', JSONExtractString(v, 'name')), ''), last.2))) AS claims
            FROM objects FINAL
            WHERE kind = 'Pod' AND (cluster, uid) IN (SELECT cluster, uid FROM pending)
            GROUP BY cluster, uid
        )
    ) AS o ON o.cluster = p.cluster AND o.uid = p.uid
) AS wanted_list,
wanted AS
(
    SELECT w.1 AS cluster, w.2 AS namespace, w.3 AS pod_uid, w.4 AS claim_name, w.5 AS pod, w.6 AS node, w.7 AS created_at, w.8 AS owner, w.9 AS groups, w.10 AS workload, w.11 AS is_started
    FROM (SELECT arrayJoin(wanted_list) AS w)
),
-- The claims that are to be deleted, and since when.
(
    SELECT groupArray((toString(cluster), uid, asked_at))
    FROM
    (
        SELECT cluster, uid, max(at) AS asked_at
        FROM changes FINAL
        PREWHERE action = 'deleting' -- action is in the sorting key: ClickHouse merges only the rows that match
        WHERE kind = 'PersistentVolumeClaim' AND {{template "in_namespaces.sql"}}
        GROUP BY cluster, uid
    )
) AS deleting_list,
deleting AS (SELECT d.1 AS cluster, d.2 AS uid, d.3 AS asked_at FROM (SELECT arrayJoin(deleting_list) AS d)),
-- The claims of which anything waits. Mounts and pods have them by name.
(
    SELECT groupArray((toString(cluster), toString(namespace), name, uid, toString(storage_class), volume_uid, if(phase = 'Pending', '', volume_name), CAST(access_modes, 'Array(String)'),
        toString(owner), CAST(groups, 'Array(String)'), ephemeral, pod_uid, volume_key))
    FROM claims FINAL
    WHERE deleted_at IS NULL AND {{template "in_namespaces.sql"}}
      AND ({{key "cluster, namespace, name"}} IN (SELECT {{key "cluster, namespace, claim_name"}} FROM wanted WHERE NOT is_started)
           OR uid_key IN (SELECT {{key "cluster, uid"}} FROM deleting))
) AS awaited_list,
awaited AS
(
    SELECT a.1 AS cluster, a.2 AS namespace, a.3 AS name, a.4 AS uid, a.5 AS storage_class, a.6 AS volume_uid, a.7 AS volume_name, a.8 AS access_modes,
        a.9 AS owner, a.10 AS groups, a.11 AS ephemeral, a.12 AS pod_uid, a.13 AS volume_key
    FROM (SELECT arrayJoin(awaited_list) AS a)
),
