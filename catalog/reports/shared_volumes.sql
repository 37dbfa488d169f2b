{{- /* Included by never-mounted.sql, never-mounted-moment.sql and space_parts.sql: the array shared_volumes, of the volumes
that several claims have or had; with "chosen", of those in the array volume_keys. */ -}}
(
    SELECT groupArray(volume_key)
    FROM
    (
        SELECT volume_key FROM bindings
        WHERE true{{filter "cluster"}}
{{- if eq . "chosen"}}
          AND {{listed "volume_key" "volume_keys"}}
{{- end}}
        GROUP BY volume_key HAVING min(claim_key) != max(claim_key)
    )
) AS shared_volumes,
