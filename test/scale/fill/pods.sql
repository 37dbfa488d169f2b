-- Pods from..to. They come evenly over the span, and last half a minute to eleven days.
WITH
    number AS p,
    sipHash64('namespace', p) % {namespaces:UInt64} AS ns,
    sipHash64('app', p) % 40 AS app,
    {began:Int64} + toInt64(p * {span:UInt64} / {pods:UInt64}) AS created,
    created + 2 + toInt64(sipHash64('start', p) % 20) AS started,
    started + toInt64(30 * pow(2, sipHash64('life', p) % 16)) AS ended,
    ended <= {began:Int64} + toInt64({span:UInt64}) AS over
SELECT
    'east' AS cluster,
    toString(reinterpretAsUUID(sipHash128('pod', p))) AS uid,
    concat('team-', leftPad(toString(ns), 3, '0')) AS namespace,
    concat('app-', toString(app), '-', lower(hex(toUInt32(sipHash64('rs', app, ns, intDiv(p * 100, {pods:UInt64}))))), '-', substring(lower(hex(sipHash64('name', p))), 1, 5)) AS name,
    concat('node-', toString(sipHash64('node', p) % 200)) AS node,
    'default' AS service_account,
    concat('owner-', toString(ns % {owners:UInt64})) AS owner,
    [concat('group-', toString(ns % {groups:UInt64}))] AS groups,
    if(app = 0, 'CronJob', 'Deployment') AS workload_kind,
    concat('app-', toString(app)) AS workload_name,
    toString(reinterpretAsUUID(sipHash128('workload', app, ns))) AS workload_uid,
    if(over, if(p % 7 = 0, 'Failed', 'Succeeded'), 'Running') AS phase,
    '' AS reason,
    fromUnixTimestamp64Micro(created * 1000000, 'UTC') AS created_at,
    fromUnixTimestamp64Micro(started * 1000000, 'UTC') AS started_at,
    if(over, fromUnixTimestamp64Micro(ended * 1000000, 'UTC'), NULL) AS finished_at,
    if(over, fromUnixTimestamp64Micro((ended + 1) * 1000000 + toInt64(sipHash64('gone', p) % 1000000), 'UTC'), NULL) AS deleted_at,
    deleted_at AS deleted_not_before,
    0 AS deleted_uncertainty,
    toUInt64(if(over, ended + 2, started + 1)) * 1000000 + p % 1000 * 1000 AS version
FROM numbers({from:UInt64}, {to:UInt64} - {from:UInt64})
