{{- /* Included by bindings.sql and timeline.sql, over a binding b of a volume v and a claim c: a binding that is older
than the first tracker may have no known beginning. It began after both the volume and the claim were created. */ -}}
(b.bound_at IS NOT NULL OR (v.created_at IS NULL OR v.created_at <= {until:DateTime64(6, 'UTC')}) AND (c.created_at IS NULL OR c.created_at <= {until:DateTime64(6, 'UTC')}))
