-- The space of the namespaces from..to, summed up by day: four fifths of it idle, and half of it used.
WITH toInt64({began:Int64}) + day_number * 86400 AS day_began
SELECT
    'east' AS cluster,
    toDate(toDateTime(day_began, 'UTC')) AS day,
    g.namespace AS namespace,
    g.storage_class AS storage_class,
    g.owner AS owner,
    g.groups AS groups,
    arraySum((began, ended) -> greatest(0, least(ended, day_began + 86400) - greatest(began, day_began)), g.began, g.ended) AS claim_seconds,
    claim_seconds AS volume_seconds,
    toInt128(arraySum((began, ended, size) -> greatest(0, least(ended, day_began + 86400) - greatest(began, day_began)) * toInt128(size), g.began, g.ended, g.sizes)) AS requested_byte_seconds,
    requested_byte_seconds AS capacity_byte_seconds,
    intDiv(requested_byte_seconds * 4, 5) AS idle_byte_seconds,
    intDiv(requested_byte_seconds, 2) AS used_byte_seconds,
    1 AS version
FROM
(
    SELECT
        namespace, storage_class, owner, groups,
        groupArray(toUnixTimestamp64Second(assumeNotNull(created_at))) AS began,
        groupArray(if(deleted_at IS NULL, toInt64(9000000000), toUnixTimestamp64Second(assumeNotNull(deleted_at)))) AS ended,
        groupArray(requested_bytes) AS sizes
    FROM claims
    WHERE namespace >= {first:String} AND namespace < {after:String}
    GROUP BY namespace, storage_class, owner, groups
) AS g
CROSS JOIN (SELECT toInt64(number) AS day_number FROM numbers(730)) AS d
