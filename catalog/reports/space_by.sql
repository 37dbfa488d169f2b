{{- /* Included by space.sql, space-moment.sql and space-window.sql, over claims and volumes, or parts of their lives: the groups of --by that
one counts for. */ -}}
{{if is "by" "namespace"}}toString(namespace)
{{- else if is "by" "owner"}}toString(owner)
{{- else if is "by" "storageclass"}}toString(storage_class)
{{- else}}arrayJoin(if(empty(groups), [''], arrayDistinct(CAST(groups, 'Array(String)')))){{end}}
