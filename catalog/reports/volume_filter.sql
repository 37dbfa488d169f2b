{{- /* Included by other reports: compares a volume with --storageclass, and with the other flags by the claim that it
is bound to or was released from. Of a claim that was gone before the first tracker came, only the volume has the namespace. */ -}}
true{{filter "storage_class"}}
{{- if given "namespace" "owner" "group" "workload"}}
      AND ({{if not (given "owner" "group" "workload")}}claim_namespace = {namespace:String} AND phase != 'Available' OR {{end}}claim_key IN
          ({{template "chosen_claims.sql"}}))
{{- end}}
