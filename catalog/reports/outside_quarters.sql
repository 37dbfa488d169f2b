{{- /* Included by other reports, with the column that says when a pod was created: whether its mounts are in none of the quarters that quarters.sql has found. */ -}}
({{.}} < {quarters_begin:DateTime64(6, 'UTC')} OR {{.}} >= {quarters_end:DateTime64(6, 'UTC')})
