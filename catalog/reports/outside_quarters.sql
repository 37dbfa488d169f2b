{{- /* Included by other reports, with the column of a pod's creation: selects the pods of no quarter between {quarters_begin} and {quarters_end}. */ -}}
({{.}} < {quarters_begin:DateTime64(6, 'UTC')} OR {{.}} >= {quarters_end:DateTime64(6, 'UTC')})
