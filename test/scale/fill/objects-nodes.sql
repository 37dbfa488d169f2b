-- Versions of 200 nodes, five of each: labels changed.
WITH
    intDiv(number, 5) AS n,
    number % 5 AS i,
    {began:Int64} + toInt64(i) * 8640000 AS observed
SELECT
    'east' AS cluster,
    'Node' AS kind,
    toString(reinterpretAsUUID(sipHash128('node', n))) AS uid,
    '' AS namespace,
    concat('node-', toString(n)) AS name,
    toString(1000 + number) AS resource_version,
    fromUnixTimestamp64Micro(observed * 1000000, 'UTC') AS observed_at,
    concat(
        '{"kind":"Node","metadata":{"name":"', name, '","uid":"', uid, '","creationTimestamp":"', formatDateTime(toDateTime({began:Int64}, 'UTC'), '%Y-%m-%dT%H:%i:%SZ'),
        '","labels":{"kubernetes.io/arch":"amd64","kubernetes.io/hostname":"', name, '","kubernetes.io/os":"linux","example.com/image":"', toString(i),
        '","topology.csi.example.com/zone":"zone-', toString(n % 5), '","topology.kubernetes.io/zone":"zone-', toString(n % 5), '"}}}') AS object
FROM numbers(1000)
WHERE {from:UInt64} = 0
