{{- /* Included by other reports, with the kind, over mounts and mounts_quarterly: a PREWHERE by columns of the sorting
key, so that ClickHouse reads the other columns only of the claims in the table found, or, for "most", of the pods that
of_most.sql selects. */ -}}
{{if found . -}}
PREWHERE indexHint((cluster, namespace, claim_name) IN (SELECT cluster, namespace, claim_name FROM found))
         AND {{template "claim_found.sql"}}
{{- else if eq . "most"}}PREWHERE {{template "of_most.sql"}}
{{- end}}
