-- The backing stores of the claims from..to.
SELECT
    'east' AS cluster,
    lower(hex(sipHash128('source', number))) AS id,
    'csi' AS kind,
    'csi.example.com' AS driver,
    '' AS server,
    concat('vol-', lower(hex(sipHash64('handle', number)))) AS path,
    map('driver', 'csi.example.com', 'volumeHandle', path) AS attributes,
    1 AS version
FROM numbers({from:UInt64}, {to:UInt64} - {from:UInt64})
