{{- /* Included by other reports, with the kind, over mounts and mounts_quarterly: if claims are in the table found, the rows of these are found first, by columns of the sorting key, and the rest is read of these alone; and so for "most" those of
of_most.sql. */ -}}
{{if found . -}}
PREWHERE indexHint((cluster, namespace, claim_name) IN (SELECT cluster, namespace, claim_name FROM found))
         AND {{template "claim_found.sql"}}
{{- else if eq . "most"}}PREWHERE {{template "of_most.sql"}}
{{- end}}
