{{- /* Included by claim.sql, find.sql, named_volumes.sql and pod.sql, over rows with namespace and name, with what the user named: selects
those that it names as NAMESPACE/NAME. */ -}}
(position({{.}}, '/') > 0 AND namespace = substringIndex({{.}}, '/', 1) AND name = substring({{.}}, position({{.}}, '/') + 1))
