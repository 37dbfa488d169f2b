{{- /* Included by counts.sql: whether a mount lasted at the moment. */ -}}
started_at <= {until:DateTime64(6, 'UTC')} AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
