-- One span in which all was watched, but for a gap of an hour in the middle.
SELECT
    'east' AS cluster,
    'made-up' AS instance,
    kind,
    fromUnixTimestamp64Micro(({began:Int64} + part * intDiv({span:Int64}, 2) + part * 3600) * 1000000, 'UTC') AS started_at,
    fromUnixTimestamp64Micro(({began:Int64} + (part + 1) * intDiv({span:Int64}, 2)) * 1000000, 'UTC') AS seen_at,
    if(part = 0, seen_at, NULL) AS ended_at,
    1 AS version
FROM (SELECT arrayJoin(['Pod', 'PersistentVolume', 'PersistentVolumeClaim', 'Node', 'VolumeAttachment']) AS kind, toInt64(arrayJoin([0, 1])) AS part)
WHERE {from:UInt64} = 0
