{{- /* Included by other reports: a volume is chosen by its class, and else by the claim that it is bound to or was released from. */ -}}
true{{filter "storage_class"}}
{{- if given "namespace" "owner" "group" "workload"}}
      AND claim_key IN
          ({{template "chosen_claims.sql"}})
{{- end}}
