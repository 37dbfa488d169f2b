{{- /* Included by other reports: compares a volume with --storageclass, and with the other flags by the claim that it
is bound to or was released from. */ -}}
true{{filter "storage_class"}}
{{- if given "namespace" "owner" "group" "workload"}}
      AND claim_key IN
          ({{template "chosen_claims.sql"}})
{{- end}}
