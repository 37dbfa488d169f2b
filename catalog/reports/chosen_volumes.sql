{{- /* Included by space_parts.sql, idle_candidates.sql and namespaces.sql: the array volume_keys, of the volumes that the selected
claims have or had, perhaps with others. A volume without a binding counts for the claim that it refers to.
identity keeps ClickHouse from comparing the claims with the primary key of bindings, which takes longer than to read all of it. */ -}}
(
    SELECT groupUniqArray(volume)
    FROM
    (
        SELECT volume_key AS volume, identity(claim_key) AS claim_key, namespace AS claim_namespace FROM bindings WHERE {{template "in_namespaces.sql"}}
        UNION ALL
        SELECT uid_key, claim_key, claim_namespace FROM volumes FINAL
    )
    WHERE {{template "of_chosen_claim.sql"}}
) AS volume_keys,
