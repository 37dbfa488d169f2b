-- How many pods used each volume, at a moment or in a window, most first. The mounts are summed up before claims and volumes are read, and nodes are
-- read of the pods of those volumes that are shown. The class is that of the volume, else that of the claim.
WITH
{{template "uses_chosen.sql" .}},
{{- if ne . "window"}}
(SELECT min(pod_created_at) FROM touched) AS oldest,
{{- end}}
sums AS
(
    SELECT
        cluster, namespace, claim_uid, claim_name, volume_uid, workload_kind, workload_name,
        {{template "pods_state.sql"}} AS pods
    FROM chosen
    WHERE claim_uid != '' OR volume_uid != ''
    GROUP BY cluster, namespace, claim_uid, claim_name, volume_uid, workload_kind, workload_name
),
-- A mount that was written before its volume was known has the volume of its claim.
owned AS
(
    SELECT
        s.cluster AS cluster, (s.namespace, s.claim_name) AS claim, if(s.volume_uid != '', s.volume_uid, c.volume_uid) AS volume_uid, c.storage_class AS claim_class,
        concat(s.workload_kind, '/', s.workload_name) AS workload, s.pods AS pods
    FROM sums AS s
    LEFT JOIN (SELECT cluster, uid, volume_uid, storage_class FROM claims FINAL WHERE {{template "uses_of.sql" .}}) AS c
        ON {{same "c.cluster, c.uid" "s.cluster, s.claim_uid"}}
),
shown AS
(
    SELECT
        any(o.cluster) AS cluster, any(o.volume_uid) AS volume_uid, any(v.name) AS name,
        if(v.storage_class != '', v.storage_class, o.claim_class) AS storage_class,
        groupUniqArray(o.claim) AS claims, uniqExactMerge(o.pods) AS pods, groupUniqArray(o.workload) AS workloads
    FROM owned AS o
    LEFT JOIN (SELECT cluster, uid, name, storage_class FROM volumes FINAL) AS v ON {{same "v.cluster, v.uid" "o.cluster, o.volume_uid"}}
    WHERE o.volume_uid != '' AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
    GROUP BY {{hashes "o.cluster, o.volume_uid"}}, storage_class
    ORDER BY pods DESC, cluster, name, volume_uid, storage_class
    LIMIT {limit:UInt64}
),
(SELECT groupArray((cluster, volume_uid, name, storage_class, claims, pods, workloads)) FROM shown) AS volumes_shown,
listed AS (SELECT s.1 AS cluster, s.2 AS volume_uid, s.3 AS name, s.4 AS storage_class, s.5 AS claims, s.6 AS pods, s.7 AS workloads FROM (SELECT arrayJoin(volumes_shown) AS s)),
claims_shown AS (SELECT DISTINCT cluster, arrayJoin(claims) AS c FROM listed)
SELECT
    l.cluster AS cluster,
    l.name AS persistentvolume,
    arraySort(arrayMap(c -> concat(c.1, '/', c.2), l.claims)) AS claims,
    l.storage_class AS storage_class,
    l.pods AS pods,
    arraySort(n.nodes) AS nodes,
    arraySort(l.workloads) AS workloads
FROM listed AS l
LEFT JOIN
(
    SELECT m.cluster AS cluster, m.volume_uid AS volume_uid, if(v.storage_class != '', v.storage_class, m.claim_class) AS storage_class, groupUniqArray(p.node) AS nodes
    FROM
    (
        SELECT cluster, uid, node FROM pods FINAL
        WHERE (cluster, namespace) IN (SELECT cluster, c.1 FROM claims_shown) AND created_at >= oldest AND created_at <= {until:DateTime64(6, 'UTC')}
    ) AS p
    RIGHT JOIN
    (
        SELECT m.cluster AS cluster, if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid, c.storage_class AS claim_class, m.pod_uid AS pod_uid
        FROM
        (
            SELECT cluster, claim_uid, volume_uid, pod_uid FROM mounts FINAL
            WHERE pod_created_at >= oldest AND {{among "cluster, namespace, claim_name" "cluster, c.1, c.2 FROM claims_shown"}} AND {{template "uses_filter.sql" .}}
        ) AS m
        LEFT JOIN
        (
            SELECT cluster, uid, volume_uid, storage_class FROM claims FINAL WHERE {{among "cluster, namespace, name" "cluster, c.1, c.2 FROM claims_shown"}}
        ) AS c ON {{same "c.cluster, c.uid" "m.cluster, m.claim_uid"}}
    ) AS m ON {{same "p.cluster, p.uid" "m.cluster, m.pod_uid"}}
    LEFT JOIN
    (
        SELECT cluster, uid, storage_class FROM volumes FINAL WHERE (cluster, uid) IN (SELECT cluster, volume_uid FROM listed)
    ) AS v ON {{same "v.cluster, v.uid" "m.cluster, m.volume_uid"}}
    GROUP BY cluster, volume_uid, storage_class
) AS n ON n.cluster = l.cluster AND n.volume_uid = l.volume_uid AND n.storage_class = l.storage_class
ORDER BY pods DESC, cluster, persistentvolume, l.volume_uid, storage_class
