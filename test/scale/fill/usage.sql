-- Ten samples of each volume of the claims from..to.
WITH intDiv(number, 10) AS k, number % 10 AS i
SELECT
    'east' AS cluster,
    fromUnixTimestamp64Micro(({began:Int64} + 3000000 + toInt64(i) * 5900000 + toInt64(sipHash64('usage', number) % 86400)) * 1000000, 'UTC') AS at,
    concat('team-', leftPad(toString(k % {namespaces:UInt64}), 3, '0')) AS namespace,
    toString(reinterpretAsUUID(sipHash128('claim', k))) AS claim_uid,
    toString(reinterpretAsUUID(sipHash128('volume', k))) AS volume_uid,
    toInt64(1 + k % 100) * 1073741824 AS capacity_bytes,
    intDiv(capacity_bytes, 20) * toInt64(1 + i + sipHash64('used', number) % 8) AS used_bytes,
    capacity_bytes - used_bytes AS available_bytes,
    1000000 AS inodes,
    toInt64(i * 1000) AS inodes_used
FROM numbers({from:UInt64} * 10, ({to:UInt64} - {from:UInt64}) * 10)
