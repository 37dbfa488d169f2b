{{- /* Included by use_rolled.sql: selects the uses in the table found. use_hash depends on the sorting key alone, so
PREWHERE may compare it before FINAL. */ -}}
{{- if found .}}PREWHERE use_hash IN (SELECT use_hash FROM found){{end}}
