-- What each class can still provide in each of five zones, every hour.
WITH
    intDiv(number, 25) AS hour,
    number % 5 AS class,
    intDiv(number, 5) % 5 AS zone
SELECT
    'east' AS cluster,
    fromUnixTimestamp64Micro(({began:Int64} + toInt64(hour) * 3600) * 1000000, 'UTC') AS at,
    toString(reinterpretAsUUID(sipHash128('capacity', class, zone))) AS uid,
    concat('class-', toString(class)) AS storage_class,
    'csi.example.com' AS driver,
    concat('topology.csi.example.com/zone=zone-', toString(zone)) AS topology,
    100000000000000 - toInt64(hour) * 2000000000 - toInt64(sipHash64('free', number) % 1000000000) AS capacity_bytes,
    1099511627776 AS maximum_volume_bytes,
    toString(number) AS resource_version
FROM numbers(25 * intDiv({span:UInt64}, 3600))
WHERE {from:UInt64} = 0
