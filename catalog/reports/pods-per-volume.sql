-- How many pods used each volume, at a moment or in a window, most first. The storage class is that of the volume, else that of the claim.
WITH
{{template "uses_chosen.sql" .}},
-- The mounts by their own columns, summed up before claims and volumes are joined.
sums AS
(
    SELECT
        any(m.cluster) AS cluster, any(m.namespace) AS namespace, any(m.claim_name) AS claim_name, any(m.volume_uid) AS volume_uid,
        {{key "cluster, any(m.claim_uid)"}} AS claim_key, if(volume_uid = '', toUInt128(0), {{key "cluster, volume_uid"}}) AS volume_key, toUInt128(0) AS quarters_key,
        groupArray({{template "pod_hash.sql"}}) AS pods, 0 AS pods_apart,
        groupUniqArray(toString(m.node)) AS nodes, groupUniqArray(concat(m.workload_kind, '/', m.workload_name)) AS workloads
    FROM chosen AS m
    WHERE m.claim_uid != '' OR m.volume_uid != ''
    GROUP BY {{key "m.cluster, m.namespace, m.claim_name, m.claim_uid, m.volume_uid"}}
{{- if quarters .}}
    UNION ALL
    SELECT
        any(m.cluster), any(m.namespace), any(m.claim_name), any(m.volume_uid),
        any(m.claim_key), any(m.volume_key), {{template "quarters_key.sql"}} AS quarters_key,
        CAST([], 'Array(UInt64)'), sum(m.pods),
        CAST([], 'Array(String)'), CAST([], 'Array(String)')
    FROM ({{template "summed_mounts.sql" .}}) AS m
    WHERE m.claim_uid != '' OR m.volume_uid != ''
    GROUP BY quarters_key
{{- end}}
),
shown AS
(
    SELECT
        any(o.cluster) AS cluster, o.volume_key AS volume_key, any(o.volume_uid) AS volume_uid, any(v.name) AS persistentvolume, if(v.storage_class != '', v.storage_class, o.claim_class) AS storage_class,
        groupUniqArray(o.claim) AS claims, uniqExactArray(o.pods_then) + sum(o.pods_apart) AS pods,
        groupArrayArray(o.nodes) AS nodes, groupArrayArray(o.workloads) AS workloads, groupArray(o.quarters_key) AS quarters_keys
    FROM (SELECT uid_key, name, storage_class FROM volumes FINAL WHERE true{{filter "cluster"}}) AS v
    RIGHT JOIN
    (
        -- A mount that was written before its volume was known gets the volume of its claim.
        SELECT
            s.cluster AS cluster, concat(s.namespace, '/', s.claim_name) AS claim, c.storage_class AS claim_class,
            if(s.volume_key != 0, s.volume_uid, c.volume_uid) AS volume_uid, if(s.volume_key != 0, s.volume_key, c.volume_key) AS volume_key,
            s.pods AS pods_then, s.pods_apart AS pods_apart, s.nodes AS nodes, s.workloads AS workloads, s.quarters_key AS quarters_key
        FROM (SELECT uid_key, volume_uid, volume_key, storage_class FROM claims FINAL WHERE {{template "in_namespaces.sql"}}) AS c
        RIGHT JOIN sums AS s ON c.uid_key = s.claim_key
    ) AS o ON v.uid_key = o.volume_key
    WHERE o.volume_uid != ''{{filter "storage_class"}}
    GROUP BY o.volume_key, storage_class
    ORDER BY pods DESC, cluster, persistentvolume, volume_uid, storage_class
    LIMIT {limit:UInt64}
)
{{- if quarters .}}
-- The sums have millions of nodes. So the report reads the nodes and workloads of sums last, and only for the rows that it shows:
-- ClickHouse filters the left side of a join by the keys of its right side.
SELECT
    any(r.cluster) AS cluster,
    any(r.persistentvolume) AS persistentvolume,
    arraySort(any(r.claims)) AS claims,
    r.storage_class AS storage_class,
    any(r.pods) AS pods,
    arraySort(arrayDistinct(arrayConcat(any(r.nodes), groupUniqArrayArray(q.nodes)))) AS nodes,
    arraySort(arrayDistinct(arrayConcat(any(r.workloads), groupUniqArrayIf(q.workload, q.workload != '')))) AS workloads
FROM
(
    SELECT {{template "quarters_key.sql"}} AS quarters_key, m.nodes AS nodes, concat(m.workload_kind, '/', m.workload_name) AS workload
    FROM ({{template "summed_mounts.sql" .}}) AS m
) AS q
RIGHT JOIN (SELECT *, arrayJoin(quarters_keys) AS quarters_key FROM shown) AS r ON q.quarters_key = r.quarters_key
GROUP BY r.volume_key, r.storage_class
ORDER BY pods DESC, cluster, persistentvolume, any(r.volume_uid), storage_class
{{- else}}
SELECT
    cluster,
    persistentvolume,
    arraySort(claims) AS claims,
    storage_class,
    pods,
    arraySort(arrayDistinct(nodes)) AS nodes,
    arraySort(arrayDistinct(workloads)) AS workloads
FROM shown
ORDER BY pods DESC, cluster, persistentvolume, volume_uid, storage_class
{{- end}}
