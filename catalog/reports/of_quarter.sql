{{- /* Included by roll_quarter.sql and roll_quarter_changed.sql, with the column that says when a pod was created: those of {quarter} that are summed up, which are those before {end}. */ -}}
{{.}} >= toDateTime64({quarter:Date}, 6, 'UTC') AND {{.}} < toDateTime64({end:Date}, 6, 'UTC')
