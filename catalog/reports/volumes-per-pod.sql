-- How many volumes each pod mounted, at a moment or in a window, most first. A backing store that the pod names itself
-- (hostPath, emptyDir, nfs, ...) counts as inline. Of those with as many in a namespace the oldest comes first, as names are read of the pods that
-- are shown.
WITH
{{template "uses_chosen.sql" .}},
shown AS
(
    SELECT
        any(o.cluster) AS cluster, any(o.namespace) AS namespace, any(o.pod_created_at) AS created_at, any(o.pod_uid) AS uid, any(o.workload) AS workload,
        uniqExactIf(o.volume_uid, o.volume_uid != '') AS volumes,
        uniqExactIf((o.source, o.source_id), o.claim_uid = '') AS inline,
        arraySort(groupUniqArrayIf(o.claim, o.claim != '')) AS claims
    FROM owned AS o
    WHERE {{template "owned_class.sql"}}
    GROUP BY {{hashes "o.cluster, o.pod_uid"}}
    ORDER BY volumes DESC, inline DESC, cluster, namespace, created_at, uid
    LIMIT {limit:UInt64}
),
(SELECT groupArray((cluster, namespace, created_at, uid, workload, volumes, inline, claims)) FROM shown) AS pods_shown,
listed AS (SELECT s.1 AS cluster, s.2 AS namespace, s.3 AS created_at, s.4 AS uid, s.5 AS workload, s.6 AS volumes, s.7 AS inline, s.8 AS claims FROM (SELECT arrayJoin(pods_shown) AS s))
SELECT
    l.cluster AS cluster,
    l.namespace AS namespace,
    p.name AS pod,
    l.workload AS workload,
    p.node AS node,
    l.volumes AS volumes,
    l.inline AS inline,
    l.claims AS claims
FROM listed AS l
LEFT JOIN
(
    SELECT cluster, uid, name, node FROM pods FINAL WHERE (cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, created_at, uid FROM listed)
) AS p ON p.cluster = l.cluster AND p.uid = l.uid
ORDER BY volumes DESC, inline DESC, cluster, namespace, l.created_at, l.uid
