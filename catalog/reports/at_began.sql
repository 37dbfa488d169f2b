{{- /* Included by at.sql, over bindings: what the last binding of a volume is told by. One whose beginning is not known
counts as the first. */ -}}
(ifNull(bound_at, toDateTime64(0, 6, 'UTC')), ordinal)
