{{- /* Included by counts.sql and in_window.sql: whether a mount lasted at some moment between {since} and {until}, by the clock of its node. */ -}}
started_at <= {until:DateTime64(6, 'UTC')}
      AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
