{{- /* Included by other reports: whether a mount was in use between {since} and {until}. */ -}}
pod_created_at <= {until:DateTime64(6, 'UTC')}
      AND started_at <= {until:DateTime64(6, 'UTC')}
      AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
