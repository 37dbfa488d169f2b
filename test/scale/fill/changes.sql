-- What the mounts of the pods from..to came and went by.
WITH
    intDiv(number, 4) AS p,
    number % 2 AS i,
    intDiv(number, 2) % 2 AS went,
    sipHash64('namespace', p) % {namespaces:UInt64} AS ns,
    {began:Int64} + toInt64(p * {span:UInt64} / {pods:UInt64}) AS created,
    created + 2 + toInt64(sipHash64('start', p) % 20) AS started,
    started + toInt64(30 * pow(2, sipHash64('life', p) % 16)) AS ended
SELECT
    'east' AS cluster,
    fromUnixTimestamp64Micro(if(went, ended, started) * 1000000, 'UTC') AS at,
    'Pod' AS kind,
    toString(reinterpretAsUUID(sipHash128('pod', p))) AS uid,
    concat('team-', leftPad(toString(ns), 3, '0')) AS namespace,
    concat('app-', toString(sipHash64('app', p) % 40), '-', lower(hex(toUInt32(sipHash64('rs', sipHash64('app', p) % 40, ns, intDiv(p * 100, {pods:UInt64}))))), '-', substring(lower(hex(sipHash64('name', p))), 1, 5)) AS name,
    if(went, 'unmounted', 'mounted') AS action,
    concat(if(i = 0, 'data', 'logs'), ' in container main at ', if(i = 0, '/data', '/logs'), if(went, ': Completed', '')) AS details,
    '' AS actor,
    '' AS resource_version
FROM numbers({from:UInt64} * 4, ({to:UInt64} - {from:UInt64}) * 4)
WHERE NOT went OR ended <= {began:Int64} + toInt64({span:UInt64})
