{{- /* Included by use_created.sql, use_pieces.sql and use_times.sql: selects mounts by the flags that an index can
find, and by the table found; others are compared later. */ -}}
{{template "in_namespaces.sql"}}
          AND {{template "of_its_claims.sql" "claim_name"}}
{{- if found .}}
          AND cityHash64(cluster, claim_uid) IN (SELECT claim_hash FROM found)
{{- end}}
