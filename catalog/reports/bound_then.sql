{{- /* Included by at.sql and diff.sql, over bindings, with the name of a parameter: selects those at that moment. */ -}}
{{$moment := printf "{%s:DateTime64(6, 'UTC')}" . -}}
(bound_at IS NULL OR bound_at <= {{$moment}}) AND (released_at IS NULL OR released_at > {{$moment}})
