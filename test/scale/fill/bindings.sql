-- The bindings of the claims from..to.
WITH
    number AS k,
    intDiv(k, {namespaces:UInt64}) % 40 = 0 AS gone,
    {began:Int64} + toInt64(sipHash64('claim', k) % 2592000) AS created
SELECT
    'east' AS cluster,
    concat('team-', leftPad(toString(k % {namespaces:UInt64}), 3, '0')) AS namespace,
    concat('data-', toString(k)) AS claim_name,
    toString(reinterpretAsUUID(sipHash128('claim', k))) AS claim_uid,
    toString(reinterpretAsUUID(sipHash128('volume', k))) AS volume_uid,
    0 AS ordinal,
    fromUnixTimestamp64Micro((created + 5) * 1000000, 'UTC') AS bound_at,
    if(gone, fromUnixTimestamp64Micro((created + 8640000) * 1000000, 'UTC'), NULL) AS released_at,
    released_at AS released_not_before,
    toUInt64(created + 12) * 1000000 + k % 1000000 AS version
FROM numbers({from:UInt64}, {to:UInt64} - {from:UInt64})
