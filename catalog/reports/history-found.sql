-- Finds the claims, and the backing stores that pods name themselves, whose rows history.sql can show.
WITH
{{template "uses_chosen.sql" .}},
{{template "history_latest.sql" .}}
known AS (SELECT cluster, namespace, name AS claim_name, '' AS source_kind, '' AS source_id, {{template "history_claim.sql"}} AS claim FROM claims WHERE {{template "in_namespaces.sql"}}),
(SELECT groupUniqArray(claim) FROM known WHERE {{listed "claim" "claims_found"}}) AS known_found,
-- What is left: backing stores, and claims without a row in claims.
(SELECT groupArray(claim) FROM (SELECT arrayJoin(claims_found) AS claim) WHERE NOT {{listed "claim" "known_found"}}) AS others_found
SELECT DISTINCT toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, source_kind, source_id, toUnixTimestamp64Micro(oldest) AS oldest_micros
FROM known
WHERE {{listed "claim" "known_found"}}
UNION ALL
SELECT DISTINCT
    toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, if(claim_name = '', toString(source_kind), '') AS source_kind, if(claim_name = '', source_id, '') AS source_id, toUnixTimestamp64Micro(oldest) AS oldest_micros
FROM ({{template "others_touched.sql" .}})
WHERE {{template "history_claim.sql"}} IN (SELECT arrayJoin(others_found))
