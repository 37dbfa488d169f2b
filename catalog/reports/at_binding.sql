{{- /* Included by at.sql, over bindings: selects those at the moment. */ -}}
(bound_at IS NULL OR bound_at <= {until:DateTime64(6, 'UTC')}) AND (released_at IS NULL OR released_at > {until:DateTime64(6, 'UTC')})
