{{- /* Included by use_created.sql, use_pieces.sql and use_times.sql: selects mounts by the flags that an index can
find, and by the table found; others are compared later. */ -}}
{{template "uses_of.sql"}}
{{- if given "volume"}}
          AND (cluster, claim_uid) IN ({{template "claims_of_its_volumes.sql"}})
{{- end}}
{{- if found .}}
          AND cityHash64(cluster, claim_uid) IN (SELECT claim_hash FROM found)
{{- end}}
