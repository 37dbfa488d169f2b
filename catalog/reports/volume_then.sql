{{- /* Included by at.sql and counts.sql, behind stays_then.sql: compares a volume with --namespace, --owner and --group by the claim that it
had at {until}, or had last unless it was available again; with "counts" with --workload, too. It depends on the sorting key alone. */ -}}
uid_key IN
         (
             SELECT volume_key FROM had
             WHERE {{if given "namespace" "owner" "group"}}{{template "of_chosen_claim.sql"}}{{else}}true{{end}}
{{- if and (eq . "counts") (given "workload")}}
               AND {{listed "claim_key" "workload_claims"}}
{{- end}}
         )
