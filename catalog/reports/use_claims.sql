{{- /* Included by use_pieces.sql and use_times.sql: the claims of the uses. A mount that was written before its volume
was known gets the volume of its claim, and one whose pod has no owner or groups gets those of its claim. */ -}}
SELECT uid_key, volume_uid, owner, groups
        FROM claims FINAL
        WHERE {{template "in_namespaces.sql"}}
          AND {{template "of_its_claims.sql" "name"}}
{{- if found .}}
          AND {{template "half_key.sql" "uid_key"}} IN (SELECT claim_hash FROM found)
{{- end}}
