{{- /* Included by never-mounted.sql, never-mounted-moment.sql and space_parts.sql: the array shared_volumes, of the volumes
that several claims have or had; with "chosen", of those in the array volume_keys. */ -}}
(
    SELECT groupArray(volume_key)
    FROM
    (
        SELECT volume_key FROM bindings
        WHERE {{if eq . "chosen"}}{{template "in_volume_namespaces.sql"}} AND {{listed "identity(volume_key)" "volume_keys"}}{{else}}true{{filter "cluster"}}{{end}}
        GROUP BY volume_key HAVING min(claim_key) != max(claim_key)
    )
) AS shared_volumes,
