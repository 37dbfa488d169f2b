-- How many pods used each volume, at a moment or in a window, most first. The mounts are summed up before the volumes are read, and nodes are
-- read of the pods of those volumes that are shown. The class is that of the volume, else that of the claim: so the sums are by the claim's class at first.
WITH
{{template "uses_chosen.sql" .}},
sums AS
(
    SELECT
        any(o.cluster) AS cluster, any(o.volume_uid) AS volume_uid, any(o.claim_class) AS claim_class,
        groupUniqArrayState((o.namespace, o.claim)) AS claims,
        uniqExactState(o.pod_uid) AS pods,
        groupUniqArrayState(o.workload) AS workloads
    FROM owned AS o
    WHERE o.volume_uid != ''
    GROUP BY {{hashes "o.cluster, o.volume_uid, o.claim_class"}}
),
shown AS
(
    SELECT
        any(s.cluster) AS cluster, any(s.volume_uid) AS volume_uid, any(v.name) AS name,
        if(v.storage_class != '', v.storage_class, s.claim_class) AS storage_class,
        groupUniqArrayMerge(s.claims) AS claims, uniqExactMerge(s.pods) AS pods, groupUniqArrayMerge(s.workloads) AS workloads
    FROM sums AS s
    LEFT JOIN (SELECT cluster, uid, name, storage_class FROM volumes FINAL) AS v ON {{same "v.cluster, v.uid" "s.cluster, s.volume_uid"}}
    WHERE {storageclass:String} = '' OR storage_class = {storageclass:String}
    GROUP BY {{hashes "s.cluster, s.volume_uid"}}, storage_class
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
        SELECT m.cluster AS cluster, if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid, c.storage_class AS claim_class, m.pod_uid AS pod_uid
        FROM
        (
            SELECT cluster, claim_uid, volume_uid, pod_uid FROM mounts FINAL
            WHERE (cluster, namespace, claim_name) IN (SELECT cluster, c.1, c.2 FROM claims_shown) AND {{template "uses_filter.sql" .}}
        ) AS m
        LEFT JOIN (SELECT cluster, uid, volume_uid, storage_class FROM claims FINAL) AS c ON {{same "c.cluster, c.uid" "m.cluster, m.claim_uid"}}
    ) AS m
    LEFT JOIN (SELECT cluster, uid, storage_class FROM volumes FINAL) AS v ON {{same "v.cluster, v.uid" "m.cluster, m.volume_uid"}}
    LEFT JOIN
    (
        SELECT cluster, uid, node FROM pods FINAL
        WHERE (cluster, namespace, created_at, uid) IN
              (
                  SELECT cluster, namespace, pod_created_at, pod_uid FROM mounts
                  WHERE (cluster, namespace, claim_name) IN (SELECT cluster, c.1, c.2 FROM claims_shown) AND {{template "uses_filter.sql" .}}
              )
    ) AS p ON {{same "p.cluster, p.uid" "m.cluster, m.pod_uid"}}
    GROUP BY cluster, volume_uid, storage_class
) AS n ON n.cluster = l.cluster AND n.volume_uid = l.volume_uid AND n.storage_class = l.storage_class
ORDER BY pods DESC, cluster, persistentvolume, l.volume_uid, storage_class
