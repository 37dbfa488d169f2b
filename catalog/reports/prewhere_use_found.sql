{{- /* Included by use_rolled.sql: the uses that are in the table found. The hash is of columns of the key, so it can be looked at before FINAL has chosen among rows. */ -}}
{{- if found .}}PREWHERE use_hash IN (SELECT use_hash FROM found){{end}}
