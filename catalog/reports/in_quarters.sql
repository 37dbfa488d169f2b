{{- /* Included by other reports, which have the table changed of changed_claims.sql unless it is empty: selects the
rows of mounts_quarterly that fit the window. */ -}}
{{template "summed_rows.sql"}}
{{- if given "changed_claims"}}
  AND name_key NOT IN (SELECT {{key "cluster, namespace, claim_name, quarter_number"}} FROM changed)
{{- end}}
