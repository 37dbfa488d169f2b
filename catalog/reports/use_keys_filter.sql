{{- /* Included by use_keys.sql: where the mounts can be that the flags choose. */ -}}
claim_uid != ''
          AND {{template "uses_of.sql"}}
          AND ({volume:String} = '' OR (cluster, claim_uid) IN ({{template "claims_of_its_volumes.sql"}}))
{{- if found .}}
          AND (cluster, namespace, claim_name) IN (SELECT cluster, namespace, claim_name FROM found)
{{- end}}
