{{- /* Included by orphans.sql, over volumes: selects those that may be orphans. One that is available may have had another claim before. */ -}}
deleted_at IS NULL{{filter "cluster"}}
          AND (phase IN ('Failed', 'Available')
               OR phase = 'Released' AND reclaim_policy = 'Retain'
               OR phase = 'Bound' AND claim_key IN (SELECT uid_key FROM claims AS c FINAL WHERE deleted_at IS NOT NULL AND {{template "claim_filter.sql"}}))
{{- if given "namespace" "owner" "group"}}
          AND (phase = 'Available' OR {{if not (given "owner" "group")}}volumes.claim_namespace = {namespace:String} OR {{end}}claim_key IN ({{template "chosen_claims.sql"}}))
{{- end}}
