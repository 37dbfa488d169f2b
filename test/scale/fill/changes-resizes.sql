-- One in ten of the volumes of the claims from..to grew by a gibibyte.
WITH
    number AS k,
    {began:Int64} + 30000000 + toInt64(sipHash64('resized', k) % 20000000) AS resized
SELECT
    'east' AS cluster,
    fromUnixTimestamp64Micro(resized * 1000000, 'UTC') AS at,
    'PersistentVolume' AS kind,
    toString(reinterpretAsUUID(sipHash128('volume', k))) AS uid,
    '' AS namespace,
    concat('pvc-', toString(reinterpretAsUUID(sipHash128('claim', k)))) AS name,
    'resized' AS action,
    concat(toString(k % 100), 'Gi → ', toString(1 + k % 100), 'Gi') AS details,
    '' AS actor,
    toString(500000000 + k) AS resource_version
FROM numbers({from:UInt64}, {to:UInt64} - {from:UInt64})
WHERE k % 10 = 1
