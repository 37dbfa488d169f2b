-- The changes of the claims from..to and of their volumes.
WITH
    intDiv(number, 4) AS k,
    number % 2 AS of_volume,
    intDiv(number, 2) % 2 AS later,
    {began:Int64} + toInt64(sipHash64('claim', k) % 2592000) AS created
SELECT
    'east' AS cluster,
    fromUnixTimestamp64Micro((created + if(later, 5, if(of_volume, 3, 0))) * 1000000, 'UTC') AS at,
    if(of_volume, 'PersistentVolume', 'PersistentVolumeClaim') AS kind,
    toString(reinterpretAsUUID(sipHash128(if(of_volume, 'volume', 'claim'), k))) AS uid,
    if(of_volume, '', concat('team-', leftPad(toString(k % {namespaces:UInt64}), 3, '0'))) AS namespace,
    if(of_volume, concat('pvc-', toString(reinterpretAsUUID(sipHash128('claim', k)))), concat('data-', toString(k))) AS name,
    if(later, 'bound', 'created') AS action,
    '' AS details,
    '' AS actor,
    '' AS resource_version
FROM numbers({from:UInt64} * 4, ({to:UInt64} - {from:UInt64}) * 4)
