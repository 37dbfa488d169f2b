{{- /* Included by uses_chosen.sql, for both of its steps, history-found.sql, pods-per-volume-found.sql and
volumes-per-pod-found.sql: selects the mounts that match the flags; "ever" is the whole history, and
"at" leaves out owner, group and workload. */ -}}
{{template "uses_of.sql" .}}
{{- if ne . "ever"}}
      AND {{template "in_window.sql"}}
{{- end}}
{{- if found .}}
      AND {{template "source_found.sql"}}
{{- end}}
{{- if given "volume"}}
      AND (cluster, namespace, claim_name) IN (SELECT c.1, c.2, c.3 FROM (SELECT arrayJoin(its_claims) AS c))
{{- end}}
{{- if ne . "at"}}
      AND {{template "whose.sql"}}
{{- end}}
