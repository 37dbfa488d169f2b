{{- /* Included by roll_quarter.sql and roll_quarter_changed.sql, with the column that says when a pod was created:
selects the pods of {quarter} that are summed up: those created before {end}. */ -}}
{{.}} >= toDateTime64({quarter:Date}, 6, 'UTC') AND {{.}} < toDateTime64({end:Date}, 6, 'UTC')
