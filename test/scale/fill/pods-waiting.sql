-- The pods that wait since the last hour, one in each fifth namespace: each on a node that its volume is not attached to.
WITH
    number AS n,
    n * 5 + 1 + n % 2 AS ns,
    {began:Int64} + toInt64({span:UInt64}) - 3600 + toInt64(n) AS created
SELECT
    'east' AS cluster,
    toString(reinterpretAsUUID(sipHash128('waiting', n))) AS uid,
    concat('team-', leftPad(toString(ns), 3, '0')) AS namespace,
    concat('waits-', toString(n)) AS name,
    'node-200' AS node,
    'default' AS service_account,
    concat('owner-', toString(ns % {owners:UInt64})) AS owner,
    [concat('group-', toString(ns % {groups:UInt64}))] AS groups,
    'Deployment' AS workload_kind,
    'waits' AS workload_name,
    toString(reinterpretAsUUID(sipHash128('waits', ns))) AS workload_uid,
    'Pending' AS phase,
    fromUnixTimestamp64Micro(created * 1000000, 'UTC') AS created_at,
    toUInt64(created) * 1000000 AS version
FROM numbers(intDiv({namespaces:UInt64}, 5))
WHERE {from:UInt64} = 0
