{{- /* Included by other reports: selects the mounts that were in use between {since} and {until}. Their pods were
created by {until}: a node whose clock is slow can date a start before that. */ -}}
pod_created_at <= {until:DateTime64(6, 'UTC')} AND started_at <= {until:DateTime64(6, 'UTC')}
      AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
