{{- /* Included by roll_quarter.sql and roll_quarter_changed.sql, with the column that says when a pod was created: those of {quarter}. */ -}}
{{.}} >= toDateTime64({quarter:Date}, 6, 'UTC') AND {{.}} < toDateTime64(addQuarters({quarter:Date}, 1), 6, 'UTC')
