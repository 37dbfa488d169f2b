{{- /* Included by other reports: whether a mount was in use between {since} and {until}, of a pod that had been created by then. A node's clock that is behind can date a start before that. */ -}}
pod_created_at <= {until:DateTime64(6, 'UTC')} AND started_at <= {until:DateTime64(6, 'UTC')}
      AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
