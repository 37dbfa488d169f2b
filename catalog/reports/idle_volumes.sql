{{- /* Included by idle_candidates.sql, with the column of a volume's key: selects the volumes. The key depends on the
sorting key alone, so PREWHERE may compare it before FINAL, which then has few rows to merge. */ -}}
{{if given "namespace" "owner" "group"}}PREWHERE {{listed . "volume_keys"}}{{end}}
