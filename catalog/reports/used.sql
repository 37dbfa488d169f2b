{{- /* Included by uses.sql: the filters that both of its steps have; "ever" is all of the history. */ -}}
({cluster:String} = '' OR cluster = {cluster:String})
      AND ({namespace:String} = '' OR namespace = {namespace:String})
{{- if ne . "ever"}}
      AND pod_created_at <= {until:DateTime64(6, 'UTC')}
      AND started_at <= {until:DateTime64(6, 'UTC')}
      AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
{{- end}}
