-- How many pods used each volume, at a moment or in a window, most first. The storage class is that of the volume, else that of the claim.
WITH
{{template "uses_chosen.sql" .}},
{{- if and (quarters .) (not (found .))}}
-- The sums have millions of nodes, and few different ones. So the report gathers the hashes of nodes, and looks up
-- their names, once each, only for the rows that it shows.
(
    SELECT groupArray(node)
    FROM (SELECT DISTINCT toString(arrayJoin(nodes)) AS node FROM mounts_quarterly WHERE {{template "summed_rows.sql"}} AND {{template "in_namespaces.sql"}})
) AS nodes_of_sums,
{{- end}}
-- The mounts by their own columns, summed up before claims and volumes are joined.
sums AS
(
    SELECT
        any(m.cluster) AS cluster, any(m.namespace) AS namespace, any(m.claim_name) AS claim_name, any(m.claim_uid) AS claim_uid, any(m.volume_uid) AS volume_uid,
        uniqExactState({{template "pod_hash.sql"}}) AS pods, 0 AS pods_apart,
        groupUniqArray(toString(m.node)) AS nodes, CAST([], 'Array(UInt64)') AS node_hashes, groupUniqArray(concat(m.workload_kind, '/', m.workload_name)) AS workloads
    FROM chosen AS m
    WHERE m.claim_uid != '' OR m.volume_uid != ''
    GROUP BY {{key "m.cluster, m.namespace, m.claim_name, m.claim_uid, m.volume_uid"}}
{{- if quarters .}}
    UNION ALL
    SELECT
        any(m.cluster), any(m.namespace), any(m.claim_name), any(m.claim_uid), any(m.volume_uid),
        uniqExactStateIf(toUInt64(0), false), sum(m.pods),
{{- if found .}}
        arrayMap(n -> toString(n), groupUniqArrayArray(m.nodes)), CAST([], 'Array(UInt64)'),
{{- else}}
        CAST([], 'Array(String)'), groupArrayArray(arrayMap(n -> cityHash64(n), m.nodes)),
{{- end}}
        groupUniqArray(concat(m.workload_kind, '/', m.workload_name))
    FROM ({{template "summed_mounts.sql" .}}) AS m
    WHERE m.claim_uid != '' OR m.volume_uid != ''
    GROUP BY {{key "m.cluster, m.namespace, m.claim_name, m.claim_uid, m.volume_uid"}}
{{- end}}
)
SELECT
    cluster,
    persistentvolume,
    arraySort(claims_then) AS claims,
    storage_class,
    pods,
{{- if and (quarters .) (not (found .))}}
    arraySort(arrayDistinct(arrayConcat(nodes_then, arrayMap(n -> transform(n, arrayMap(name -> cityHash64(name), nodes_of_sums), nodes_of_sums, ''), node_hashes)))) AS nodes,
{{- else}}
    arraySort(nodes_then) AS nodes,
{{- end}}
    arraySort(workloads_then) AS workloads
FROM
(
    SELECT
        any(o.cluster) AS cluster, any(o.volume_uid) AS volume_uid, any(v.name) AS persistentvolume, if(v.storage_class != '', v.storage_class, o.claim_class) AS storage_class,
        groupUniqArray(o.claim) AS claims_then, uniqExactMerge(o.pods_then) + sum(o.pods_apart) AS pods,
        groupUniqArrayArray(o.nodes) AS nodes_then, groupArrayArray(o.node_hashes) AS node_hashes, groupUniqArrayArray(o.workloads) AS workloads_then
    FROM (SELECT uid_key, name, storage_class FROM volumes FINAL WHERE true{{filter "cluster"}}) AS v
    RIGHT JOIN
    (
        -- A mount that was written before its volume was known gets the volume of its claim.
        SELECT
            s.cluster AS cluster, concat(s.namespace, '/', s.claim_name) AS claim, if(s.volume_uid != '', s.volume_uid, c.volume_uid) AS volume_uid, c.storage_class AS claim_class,
            s.pods AS pods_then, s.pods_apart AS pods_apart, s.nodes AS nodes, s.node_hashes AS node_hashes, s.workloads AS workloads
        FROM (SELECT uid_key, volume_uid, storage_class FROM claims FINAL WHERE {{template "in_namespaces.sql"}}) AS c
        RIGHT JOIN sums AS s ON c.uid_key = {{key "s.cluster, s.claim_uid"}}
    ) AS o ON v.uid_key = {{key "o.cluster, o.volume_uid"}}
    WHERE o.volume_uid != ''{{filter "storage_class"}}
    GROUP BY {{key "o.cluster, o.volume_uid"}}, storage_class
    ORDER BY pods DESC, cluster, persistentvolume, volume_uid, storage_class
    LIMIT {limit:UInt64}
)
ORDER BY pods DESC, cluster, persistentvolume, volume_uid, storage_class
