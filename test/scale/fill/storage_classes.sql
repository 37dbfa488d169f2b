-- Five classes.
SELECT
    'east' AS cluster,
    toString(reinterpretAsUUID(sipHash128('class', number))) AS uid,
    concat('class-', toString(number)) AS name,
    'csi.example.com' AS provisioner,
    'Delete' AS reclaim_policy,
    'WaitForFirstConsumer' AS binding_mode,
    true AS expansion,
    fromUnixTimestamp64Micro({began:Int64} * 1000000, 'UTC') AS created_at,
    1 AS version
FROM numbers(5)
WHERE {from:UInt64} = 0
