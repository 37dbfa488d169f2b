{{- /* Included by idle_candidates.sql and space_parts.sql behind FINAL, with the column of a volume's key: selects the
volumes of --namespace, --owner or --group; nothing without these flags, and --cluster is the caller's. The key depends on
the sorting key alone, so PREWHERE may compare it before FINAL, which then has few rows to merge. identity: see chosen_volumes.sql. */ -}}
{{if given "namespace" "owner" "group"}}PREWHERE {{listed (printf "identity(%s)" .) "volume_keys"}}{{end}}
