{{- /* Included by uses_chosen.sql, others_touched.sql and volumes-per-pod-found.sql: selects the mounts that match the flags;
"ever" is the whole history, and "at", "ever" and "touched" leave out owner, group and workload. */ -}}
{{template "uses_of.sql" .}}
{{- if ne . "ever"}}
      AND {{template "in_window.sql"}}
{{- end}}
{{- if found .}}
      AND {{template "source_found.sql"}}
{{- end}}
      AND {{template "of_its_claims.sql" "claim_name"}}
{{- if not (or (eq . "at") (eq . "ever") (eq . "touched"))}}
      AND {{template "whose.sql"}}
{{- end}}
