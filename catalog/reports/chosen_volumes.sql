{{- /* Included by space_parts.sql and idle_candidates.sql: the array volume_keys, of the volumes that the selected
claims have or had, perhaps with others. A volume without a binding counts for the claim that it refers to; for
--namespace, even if the catalog has no row of that claim. */ -}}
(
    SELECT groupUniqArray(volume)
    FROM
    (
        SELECT volume_key AS volume, claim_key, '' AS claim_namespace FROM bindings
        UNION ALL
        SELECT uid_key, claim_key, claim_namespace FROM volumes FINAL
    )
    WHERE {{if given "namespace"}}claim_namespace = {namespace:String} OR {{end}}claim_key IN ({{template "chosen_claims.sql"}})
) AS volume_keys,
