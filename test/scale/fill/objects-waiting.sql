-- The pods that wait. No report reads the versions of other pods.
WITH
    number * 5 + 1 + number % 2 AS ns,
    {began:Int64} + toInt64({span:UInt64}) - 3600 + toInt64(number) AS created,
    concat('team-', leftPad(toString(ns), 3, '0')) AS team
SELECT
    'east' AS cluster,
    'Pod' AS kind,
    toString(reinterpretAsUUID(sipHash128('waiting', number))) AS uid,
    team AS namespace,
    concat('waits-', toString(number)) AS name,
    toString(900000000 + number) AS resource_version,
    fromUnixTimestamp64Micro(created * 1000000, 'UTC') AS observed_at,
    concat(
        '{"metadata":{"name":"', name, '","namespace":"', team, '","uid":"', uid,
        '","creationTimestamp":"', formatDateTime(toDateTime(created, 'UTC'), '%Y-%m-%dT%H:%i:%SZ'), '"},"spec":{"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-',
        toString(ns + {namespaces:UInt64}), '"}}],"containers":[{"name":"main","image":"registry.example.com/waits:1","volumeMounts":[{"name":"data","mountPath":"/data"}]}],"nodeName":"node-200"},"status":{"phase":"Pending"}}') AS object
FROM numbers(intDiv({namespaces:UInt64}, 5))
WHERE {from:UInt64} = 0
