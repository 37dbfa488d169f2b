-- Included by other reports: the volumes that {volume} names, by name, UID, volume handle, or as NAMESPACE/CLAIM.
-- The name of a claim stands for each volume that a claim of that name ever had. A value without a slash names no claim, so this is
-- shorter then. Names of volumes never change, so all versions of a row have the same, and the indexes can be used without FINAL.
-- The program asks for them first, as a report names them in many places: see volumes.sql.
{{if given "named_volumes" -}}
SELECT v.1 AS cluster, v.2 AS uid FROM (SELECT arrayJoin({named_volumes:Array(Tuple(String, String))}) AS v)
{{- else -}}
SELECT cluster, uid FROM volumes WHERE name = {volume:String}
UNION DISTINCT
SELECT cluster, uid FROM volumes WHERE uid = {volume:String}
UNION DISTINCT
SELECT cluster, uid FROM volumes WHERE volume_handle = {volume:String}
{{- if contains "volume" "/"}}
UNION DISTINCT
SELECT cluster, volume_uid FROM (SELECT cluster, volume_uid, namespace, claim_name AS name FROM bindings) WHERE {{template "claim_named.sql" "{volume:String}"}}
UNION DISTINCT
SELECT cluster, volume_uid FROM claims FINAL WHERE {{template "claim_named.sql" "{volume:String}"}} AND volume_uid != ''
UNION DISTINCT
-- Nobody saw the claim, nor the volume while it was bound.
SELECT cluster, uid
FROM
(
    SELECT cluster, uid, claim_uid, claim_key, claim_namespace AS namespace, claim_name AS name FROM volumes FINAL
    PREWHERE uid_key IN (SELECT uid_key FROM (SELECT uid_key, claim_namespace AS namespace, claim_name AS name FROM volumes) WHERE {{template "claim_named.sql" "{volume:String}"}})
)
WHERE claim_uid != '' AND {{template "claim_named.sql" "{volume:String}"}}
  AND claim_key NOT IN (SELECT uid_key FROM claims WHERE {{template "claim_named.sql" "{volume:String}"}})
{{- end}}
{{- end}}
