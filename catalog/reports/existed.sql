{{- /* Included by other reports, over objects: selects those that existed between {since} and {until}. */ -}}
(created_at IS NULL OR created_at <= {until:DateTime64(6, 'UTC')}) AND (deleted_at IS NULL OR deleted_at > {since:DateTime64(6, 'UTC')})
