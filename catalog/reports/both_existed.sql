{{- /* Included by bindings.sql and timeline.sql, over a binding b of a volume v and a claim c: of one that was there before anybody watched, the beginning may not be known. It is not before
that of the volume or of the claim. */ -}}
(b.bound_at IS NOT NULL OR (v.created_at IS NULL OR v.created_at <= {until:DateTime64(6, 'UTC')}) AND (c.created_at IS NULL OR c.created_at <= {until:DateTime64(6, 'UTC')}))
