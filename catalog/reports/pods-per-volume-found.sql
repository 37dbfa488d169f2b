-- Finds the claims of the volumes that pods-per-volume.sql can show. It counts the pods by volume and claim, both as
-- hashes, because there are millions.
-- The pods that the report shows of a volume are at least those of one of its claims (least) and at most the sum over
-- its claims (most): a pod can use a volume by two claims, and claims of two storage classes make two rows. Two volumes
-- with the same hash count as one volume with more claims, so both are found.
-- enough is the least count of the last row that fits into {limit}. Volumes with most > enough can be shown. Where most
-- and least are equal, the volume is one row: of the volumes with just enough pods, only the first ones by name are
-- needed.
-- pods-per-volume.sql can count only a part of the pods of a volume that was not found, if its claim has the same name
-- as one that was found. Such a volume has fewer pods than enough, so it is not shown.
WITH
{{template "uses_chosen.sql" .}},
{{template "of_class.sql"}}
(
    SELECT (
        arrayFlatten(arrayFilter((c, most, least) -> most > enough OR most = enough AND least < enough, claims, mosts, leasts)),
        arrayFilter((v, most, least) -> most = enough AND least = enough, arrayZip(volumes, claims), mosts, leasts))
    FROM
    (
        SELECT
            groupArray(volume) AS volumes, groupArray(most) AS mosts, groupArray(least) AS leasts, groupArray(claims_of_it) AS claims,
            arrayPartialReverseSort({limit:UInt64}, leasts)[{limit:UInt64}] AS enough -- at least {limit} rows have so many pods
        FROM
        (
            SELECT if(s.volume != 0, s.volume, c.volume) AS volume, sum(s.pods) AS most, max(s.pods) AS least, groupArray(s.claim) AS claims_of_it
            FROM
            (
                SELECT volume, claim, sum(pods) AS pods
                FROM
                (
                    -- The volume is the upper half of volume_key of mounts_quarterly, or 0.
                    SELECT if(volume_uid = '', 0, cityHash64(cluster, volume_uid)) AS volume, cityHash64(cluster, claim_uid) AS claim, uniqExact({{template "pod_hash.sql"}}) AS pods
                    FROM chosen
                    WHERE (claim_uid != '' OR volume_uid != '') AND {{template "mount_class.sql"}}
                    GROUP BY volume, claim
{{- if quarters .}}
                    UNION ALL
                    SELECT {{template "half_key.sql" "volume_key"}} AS volume, {{template "half_key.sql" "claim_key"}} AS claim, sum(pods)
                    FROM ({{template "summed_mounts.sql" .}})
                    -- A volume or a claim, by numbers, which are read faster than UIDs.
                    WHERE (volume_key != 0 OR claim != cityHash64(cluster, '')) AND {{template "mount_class.sql"}}
                    GROUP BY volume, claim
{{- end}}
                )
                GROUP BY volume, claim
            ) AS s
            LEFT JOIN
            (
                -- A mount that was written before its volume was known gets the volume of its claim.
                SELECT {{template "half_key.sql" "uid_key"}} AS claim, {{template "half_key.sql" "volume_key"}} AS volume FROM claims FINAL WHERE volume_uid != '' AND {{template "in_namespaces.sql"}}
            ) AS c ON c.claim = s.claim
            GROUP BY volume
            HAVING volume != 0
        )
    )
) AS counted,
-- Of the volumes with just enough pods, the first ones by name.
(
    SELECT arrayConcat(counted.1, groupArrayArray(claims_of_it))
    FROM
    (
        SELECT t.claims_of_it AS claims_of_it
        FROM (SELECT {{template "half_key.sql" "uid_key"}} AS volume, cluster, name, uid FROM volumes FINAL WHERE volume IN (SELECT tied.1 FROM (SELECT arrayJoin(counted.2) AS tied))) AS v
        RIGHT JOIN (SELECT tied.1 AS volume, tied.2 AS claims_of_it FROM (SELECT arrayJoin(counted.2) AS tied)) AS t ON t.volume = v.volume
        ORDER BY v.cluster, v.name, v.uid
        LIMIT {limit:UInt64} BY if(v.uid = '', t.volume, 0)
    )
) AS claims_found,
known AS (SELECT cluster, namespace, name, {{template "half_key.sql" "uid_key"}} AS claim FROM claims WHERE {{template "in_namespaces.sql"}}),
(SELECT groupUniqArray(claim) FROM known WHERE {{listed "claim" "claims_found"}}) AS known_found,
(SELECT groupArray(claim) FROM (SELECT arrayJoin(claims_found) AS claim) WHERE NOT {{listed "claim" "known_found"}}) AS others_found
SELECT DISTINCT toString(cluster) AS cluster, toString(namespace) AS namespace, name AS claim_name, '' AS source_kind, '' AS source_id, toUnixTimestamp64Micro(oldest) AS oldest_micros
FROM known
WHERE {{listed "claim" "known_found"}}
UNION ALL
-- The claims that have no row in claims.
SELECT DISTINCT toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, '' AS source_kind, '' AS source_id, toUnixTimestamp64Micro(oldest) AS oldest_micros
FROM ({{template "others_touched.sql" .}})
WHERE cityHash64(cluster, claim_uid) IN (SELECT arrayJoin(others_found))
