{{- /* Included by space-moment.sql and space-window.sql, over parts: the groups of --by that a part counts for. */ -}}
{{if is "by" "namespace"}}toString(namespace)
{{- else if is "by" "owner"}}toString(owner)
{{- else if is "by" "storageclass"}}toString(storage_class)
{{- else}}arrayJoin(if(empty(groups), [''], arrayDistinct(CAST(groups, 'Array(String)')))){{end}}
