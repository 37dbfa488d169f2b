-- Versions of the claims from..to: created, bound, and twenty in which the condition Unused changed, as it does whenever the first pod
-- comes or the last one goes.
WITH
    intDiv(number, 22) AS k,
    number % 22 AS i,
    {began:Int64} + toInt64(sipHash64('claim', k) % 2592000) AS created,
    if(i < 2, created + toInt64(i) * 5, {began:Int64} + 2592000 + toInt64(i - 2) * 3000000 + toInt64(sipHash64('unused', number) % 2000000)) AS observed,
    formatDateTime(toDateTime(observed, 'UTC'), '%Y-%m-%dT%H:%i:%SZ') AS time,
    concat('team-', leftPad(toString(k % {namespaces:UInt64}), 3, '0')) AS team
SELECT
    'east' AS cluster,
    'PersistentVolumeClaim' AS kind,
    toString(reinterpretAsUUID(sipHash128('claim', k))) AS uid,
    team AS namespace,
    concat('data-', toString(k)) AS name,
    toString(1000000 + toUInt64(observed - {began:Int64}) * 100 + k % 100) AS resource_version,
    fromUnixTimestamp64Micro(observed * 1000000 + toInt64(k % 1000000), 'UTC') AS observed_at,
    concat(
        '{"metadata":{"name":"', name, '","namespace":"', team, '","uid":"', uid,
        '","creationTimestamp":"', formatDateTime(toDateTime(created, 'UTC'), '%Y-%m-%dT%H:%i:%SZ'),
        '","labels":{"app":"app-', toString(k % 40), '"},"annotations":{"volume.kubernetes.io/storage-provisioner":"csi.example.com"},"finalizers":["kubernetes.io/pvc-protection"]},',
        '"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"', toString(1 + k % 100), 'Gi"}},',
        if(i = 0, '', concat('"volumeName":"pvc-', uid, '",')), '"storageClassName":"class-', toString(k % 5), '","volumeMode":"Filesystem"},"status":{',
        if(i = 0, '"phase":"Pending"', concat('"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"', toString(1 + k % 100), 'Gi"}')),
        if(i < 2, '', concat(
            ',"conditions":[{"type":"Unused","status":"', if(i % 2 = 1, 'True', 'False'), '","lastProbeTime":null,"lastTransitionTime":"', time,
            '","reason":"', if(i % 2 = 1, 'NoPodsUsingPVC', 'PodUsingPVC'), '"}]')),
        '}}') AS object
FROM numbers({from:UInt64} * 22, ({to:UInt64} - {from:UInt64}) * 22)
