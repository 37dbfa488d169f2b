-- The volumes of the claims from..to. Those of the deleted claims are Released; one in two thousand of all is Available.
WITH
    number AS k,
    intDiv(k, {namespaces:UInt64}) % 40 = 0 AS gone,
    {began:Int64} + toInt64(sipHash64('claim', k) % 2592000) AS created
SELECT
    'east' AS cluster,
    toString(reinterpretAsUUID(sipHash128('volume', k))) AS uid,
    concat('pvc-', toString(reinterpretAsUUID(sipHash128('claim', k)))) AS name,
    concat('class-', toString(k % 5)) AS storage_class,
    'csi' AS source_kind,
    lower(hex(sipHash128('source', k))) AS source_id,
    'csi.example.com' AS driver,
    concat('vol-', lower(hex(sipHash64('handle', k)))) AS volume_handle,
    toInt64(1 + k % 100) * 1073741824 AS capacity_bytes,
    ['ReadWriteOnce'] AS access_modes,
    'Filesystem' AS volume_mode,
    if(gone, 'Retain', 'Delete') AS reclaim_policy,
    concat('[{"matchExpressions":[{"key":"topology.csi.example.com/zone","operator":"In","values":["zone-', toString(k % 5), '"]}]}]') AS node_affinity,
    if(gone, 'Released', 'Bound') AS phase,
    fromUnixTimestamp64Micro((created + if(gone, 8640000, 5)) * 1000000, 'UTC') AS phase_changed_at,
    toString(reinterpretAsUUID(sipHash128('claim', k))) AS claim_uid,
    concat('team-', leftPad(toString(k % {namespaces:UInt64}), 3, '0')) AS claim_namespace,
    concat('data-', toString(k)) AS claim_name,
    fromUnixTimestamp64Micro((created + 3) * 1000000, 'UTC') AS created_at,
    toUInt64(created + 11) * 1000000 + k % 1000000 AS version
FROM numbers({from:UInt64}, {to:UInt64} - {from:UInt64})
