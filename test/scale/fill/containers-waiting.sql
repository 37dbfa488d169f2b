-- The containers of the pods that wait.
WITH {began:Int64} + toInt64({span:UInt64}) - 3600 + toInt64(number) AS created
SELECT
    'east' AS cluster,
    concat('team-', leftPad(toString(number * 5 + 1 + number % 2), 3, '0')) AS namespace,
    toString(reinterpretAsUUID(sipHash128('waiting', number))) AS pod_uid,
    fromUnixTimestamp64Micro(created * 1000000, 'UTC') AS pod_created_at,
    'main' AS name,
    'main' AS kind,
    'registry.example.com/waits:1' AS image,
    '/app' AS command,
    toUInt64(created) * 1000000 AS version
FROM numbers(intDiv({namespaces:UInt64}, 5))
WHERE {from:UInt64} = 0
