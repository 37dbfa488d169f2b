-- Ten attachments of each volume of the claims from..to. The volume is still attached by the last one, unless it is released.
WITH
    intDiv(number, 10) AS k,
    number % 10 AS i,
    intDiv(k, {namespaces:UInt64}) % 40 = 0 AS gone,
    {began:Int64} + 2592000 + toInt64(i) * 6000000 + toInt64(sipHash64('attached', number) % 3000000) AS since
SELECT
    'east' AS cluster,
    toString(reinterpretAsUUID(sipHash128('attachment', number))) AS uid,
    toString(reinterpretAsUUID(sipHash128('volume', k))) AS volume_uid,
    concat('node-', toString(sipHash64('attached to', number) % 200)) AS node,
    'csi.example.com' AS attacher,
    fromUnixTimestamp64Micro((since - 5) * 1000000, 'UTC') AS created_at,
    true AS attached,
    fromUnixTimestamp64Micro(since * 1000000, 'UTC') AS attached_at,
    if(i < 9 OR gone, fromUnixTimestamp64Micro((since + 1000000) * 1000000 + toInt64(k % 1000000), 'UTC'), NULL) AS detached_at,
    '' AS error,
    toUInt64(since + if(detached_at IS NULL, 0, 1000000)) * 1000000 AS version
FROM numbers({from:UInt64} * 10, ({to:UInt64} - {from:UInt64}) * 10)
