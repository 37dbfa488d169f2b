{{- /* Included by at.sql and diff.sql, over bindings, with the name of a parameter: selects those at that moment. */ -}}
{{template "bound_by.sql" .}}
AND (released_at IS NULL OR released_at > {{printf "{%s:DateTime64(6, 'UTC')}" .}})
