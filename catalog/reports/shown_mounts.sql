{{- /* Included by history-wide.sql and pods-per-volume.sql, behind uses_chosen.sql: the mounts of claims_shown that were in use in the window, without those that are in in_quarters.sql. */ -}}
SELECT cluster, namespace, claim_name, claim_uid, volume_uid, source_kind, source_id, workload_kind, workload_name, owner, groups, pod_uid
FROM mounts FINAL
WHERE pod_created_at >= oldest AND {{template "in_window.sql"}} AND {{template "of_shown.sql"}}
{{- if eq . "quarters"}}
  AND {{template "outside_quarters.sql" "pod_created_at"}}
UNION ALL
SELECT cluster, namespace, claim_name, claim_uid, volume_uid, source_kind, source_id, workload_kind, workload_name, owner, groups, pod_uid
FROM mounts FINAL
WHERE notEmpty(changed) AND {{template "in_window.sql"}} AND {{template "of_shown.sql"}} AND {{template "in_changed.sql"}}
{{- end}}
