{{- /* Included by other reports: compares a volume with --storageclass, and with the other flags by the claim that it
is bound to or was released from. Of a claim that was gone before the first tracker came, only the volume has the namespace. A volume that
is available waits for the claim that it names, and counts for none. */ -}}
true{{filter "storage_class"}}
{{- if given "namespace" "owner" "group" "workload"}}
      AND phase != 'Available'
      AND ({{if not (given "owner" "group" "workload")}}claim_namespace = {namespace:String} OR {{end}}claim_key IN
          ({{template "chosen_claims.sql"}}))
{{- end}}
