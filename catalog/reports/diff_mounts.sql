{{- /* Included by diff.sql: the mounts that were in use at one of the two moments. */ -}}
pod_created_at <= {until:DateTime64(6, 'UTC')} AND started_at <= {until:DateTime64(6, 'UTC')}
      AND (ended_at IS NULL OR ended_at > {until:DateTime64(6, 'UTC')} OR started_at <= {since:DateTime64(6, 'UTC')} AND ended_at > {since:DateTime64(6, 'UTC')})
