-- The mounts of the pods from..to: two claims of its namespace each. One end in fifty was not observed.
WITH
    intDiv(number, 2) AS p,
    number % 2 AS i,
    sipHash64('namespace', p) % {namespaces:UInt64} AS ns,
    sipHash64('claim', p, i) % intDiv({claims:UInt64}, {namespaces:UInt64}) AS nth,
    ns + {namespaces:UInt64} * (nth + (nth % 20 = 0)) AS k,
    {began:Int64} + toInt64(p * {span:UInt64} / {pods:UInt64}) AS created,
    created + 2 + toInt64(sipHash64('start', p) % 20) AS started,
    started + toInt64(30 * pow(2, sipHash64('life', p) % 16)) AS ended,
    ended <= {began:Int64} + toInt64({span:UInt64}) AS over
SELECT
    'east' AS cluster,
    concat('team-', leftPad(toString(ns), 3, '0')) AS namespace,
    toString(reinterpretAsUUID(sipHash128('pod', p))) AS pod_uid,
    fromUnixTimestamp64Micro(created * 1000000, 'UTC') AS pod_created_at,
    'main' AS container,
    if(i = 0, 'data', 'logs') AS volume,
    if(i = 0, '/data', '/logs') AS mount_path,
    'csi' AS source_kind,
    lower(hex(sipHash128('source', k))) AS source_id,
    toString(reinterpretAsUUID(sipHash128('claim', k))) AS claim_uid,
    concat('data-', toString(k)) AS claim_name,
    toString(reinterpretAsUUID(sipHash128('volume', k))) AS volume_uid,
    fromUnixTimestamp64Micro(started * 1000000, 'UTC') AS started_at,
    started_at AS started_not_before,
    0 AS started_uncertainty,
    if(over, fromUnixTimestamp64Micro(ended * 1000000, 'UTC'), NULL) AS ended_at,
    if(over AND p % 50 = 0, least(90, ended - started) * 1000000, 0) AS ended_uncertainty,
    ended_at - toIntervalMicrosecond(ended_uncertainty) AS ended_not_before,
    if(over, if(p % 7 = 0, 'Error', 'Completed'), '') AS end_reason,
    toUInt64(if(over, ended + 2, started + 1)) * 1000000 + p % 1000000 AS version
FROM numbers({from:UInt64} * 2, ({to:UInt64} - {from:UInt64}) * 2)
