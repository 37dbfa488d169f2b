-- Versions of the volumes of the claims from..to: created, available, and bound. Each can be reached from one of five zones.
WITH
    intDiv(number, 3) AS k,
    number % 3 AS i,
    {began:Int64} + toInt64(sipHash64('claim', k) % 2592000) AS created,
    created + 3 + toInt64(i) AS observed,
    formatDateTime(toDateTime(observed, 'UTC'), '%Y-%m-%dT%H:%i:%SZ') AS time,
    toString(reinterpretAsUUID(sipHash128('claim', k))) AS claim
SELECT
    'east' AS cluster,
    'PersistentVolume' AS kind,
    toString(reinterpretAsUUID(sipHash128('volume', k))) AS uid,
    '' AS namespace,
    concat('pvc-', claim) AS name,
    toString(1000000 + toUInt64(observed - {began:Int64}) * 100 + k % 100) AS resource_version,
    fromUnixTimestamp64Micro(observed * 1000000 + toInt64(k % 1000000), 'UTC') AS observed_at,
    concat(
        '{"metadata":{"name":"', name, '","uid":"', uid, '","creationTimestamp":"', time,
        '","annotations":{"pv.kubernetes.io/provisioned-by":"csi.example.com"},"finalizers":["kubernetes.io/pv-protection"]},',
        '"spec":{"capacity":{"storage":"', toString(1 + k % 100), 'Gi"},"csi":{"driver":"csi.example.com","volumeHandle":"vol-', lower(hex(sipHash64('handle', k))), '","fsType":"ext4"},',
        '"accessModes":["ReadWriteOnce"],"claimRef":{"kind":"PersistentVolumeClaim","namespace":"team-', leftPad(toString(k % {namespaces:UInt64}), 3, '0'),
        '","name":"data-', toString(k), '","uid":"', claim, '"},"persistentVolumeReclaimPolicy":"Delete","storageClassName":"class-', toString(k % 5), '","volumeMode":"Filesystem",',
        '"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"topology.csi.example.com/zone","operator":"In","values":["zone-', toString(k % 5), '"]}]}]}}},',
        '"status":{"phase":"', ['Pending', 'Available', 'Bound'][i + 1], '","lastPhaseTransitionTime":"', time, '"}}') AS object
FROM numbers({from:UInt64} * 3, ({to:UInt64} - {from:UInt64}) * 3)
