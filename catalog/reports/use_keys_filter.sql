{{- /* Included by use_keys.sql and use_pieces.sql: selects mounts of claims by the flags that an index can find; others
are compared later. */ -}}
claim_uid != ''
          AND {{template "uses_of.sql"}}
{{- if given "volume"}}
          AND (cluster, claim_uid) IN ({{template "claims_of_its_volumes.sql"}})
{{- end}}
{{- if found .}}
          AND cityHash64(cluster, claim_uid) IN (SELECT claim_hash FROM found)
{{- end}}
