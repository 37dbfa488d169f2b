-- Which uses use-hours.sql shows: those of the longest time. Here they are told apart and added up as numbers, as there are millions; what they are is looked up for these.
WITH
toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')}) AS began_micros,
least(toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}), {now_micros:Int64}) AS ended_micros,
{{template "windows.sql" "rolled"}}
{{template "use_pieces.sql" .}},
{{template "use_rolled.sql" .}}
SELECT toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, use_city, use_farm
FROM
(
    SELECT cityHash64({{template "use_columns.sql"}}) AS use_city, farmHash64({{template "use_columns.sql"}}) AS use_farm,
        any(o.cluster) AS cluster, any(o.namespace) AS namespace, any(o.claim_name) AS claim_name, sum(o.micros) AS micros
    FROM
    (
        SELECT
            toLowCardinality(toString(cluster)) AS cluster, toLowCardinality(toString(namespace)) AS namespace, claim_name, claim_uid, volume_uid,
            toLowCardinality(workload_kind) AS workload_kind, toLowCardinality(workload_name) AS workload_name, toLowCardinality(owner) AS owner,
            CAST(groups, 'Array(LowCardinality(String))') AS groups, greatest(0, ended - greatest(began, reached)) AS micros
        FROM pieces
        UNION ALL
        SELECT cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, use_seconds * 1000000
        FROM rolled_uses
    ) AS o
    WHERE ({volume:String} = '' OR (o.cluster, o.volume_uid) IN (SELECT cluster, uid FROM its_volumes)) AND {{template "owned_class.sql"}}
    GROUP BY use_city, use_farm
)
-- What was in use all the time has the same time: of these the first ones by name.
ORDER BY intDiv(micros, 1000000) DESC, cluster, namespace, claim_name
LIMIT {limit:UInt64} WITH TIES
