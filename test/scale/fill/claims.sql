-- Claims from..to. One in twenty is never mounted, and half of these are deleted.
WITH
    number AS k,
    k % {namespaces:UInt64} AS ns,
    intDiv(k, {namespaces:UInt64}) % 20 = 0 AS spare,
    spare AND intDiv(k, {namespaces:UInt64}) % 40 = 0 AS gone,
    {began:Int64} + toInt64(sipHash64('claim', k) % 2592000) AS created
SELECT
    'east' AS cluster,
    toString(reinterpretAsUUID(sipHash128('claim', k))) AS uid,
    concat('team-', leftPad(toString(ns), 3, '0')) AS namespace,
    concat('data-', toString(k)) AS name,
    concat('class-', toString(k % 5)) AS storage_class,
    toString(reinterpretAsUUID(sipHash128('volume', k))) AS volume_uid,
    concat('pvc-', toString(reinterpretAsUUID(sipHash128('claim', k)))) AS volume_name,
    toInt64(1 + k % 100) * 1073741824 AS requested_bytes,
    requested_bytes AS capacity_bytes,
    ['ReadWriteOnce'] AS access_modes,
    'Filesystem' AS volume_mode,
    'Bound' AS phase,
    concat('owner-', toString(ns % {owners:UInt64})) AS owner,
    [concat('group-', toString(ns % {groups:UInt64}))] AS groups,
    fromUnixTimestamp64Micro(created * 1000000, 'UTC') AS created_at,
    fromUnixTimestamp64Micro((created + 5) * 1000000, 'UTC') AS bound_at,
    if(gone, fromUnixTimestamp64Micro((created + 8640000) * 1000000 + toInt64(k % 1000000), 'UTC'), NULL) AS deleted_at,
    deleted_at AS deleted_not_before,
    toUInt64(created + 10) * 1000000 + k % 1000000 AS version
FROM numbers({from:UInt64}, {to:UInt64} - {from:UInt64})
