{{- /* Included by uses_chosen.sql, for both of its steps, and by pods-per-volume.sql: the mounts that the flags choose; "ever" is all of the history. */ -}}
{{template "uses_of.sql" .}}
{{- if ne . "ever"}}
      AND pod_created_at <= {until:DateTime64(6, 'UTC')}
      AND started_at <= {until:DateTime64(6, 'UTC')}
      AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
{{- end}}
      AND ({volume:String} = '' OR (cluster, namespace, claim_name) IN (SELECT c.1, c.2, c.3 FROM (SELECT arrayJoin(its_claims) AS c)))
{{- if ne . "at"}}
      AND {{template "whose.sql"}}
{{- end}}
