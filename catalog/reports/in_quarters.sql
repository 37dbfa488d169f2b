{{- /* Included by other reports, which have a table changed of changed_claims.sql if it has rows: the rows of mounts_quarterly that are right for the window. */ -}}
{{template "summed_rows.sql"}}
{{- if given "changed_claims"}}
  AND {{key "cluster, namespace, claim_name, toYYYYMM(quarter)"}} NOT IN (SELECT {{key "cluster, namespace, claim_name, quarter_number"}} FROM changed)
{{- end}}
