{{- /* Included by app-changes.sql, at.sql, blocked.sql and ephemeral.sql, with a column that has a workload as KIND/NAME: compares it with
--workload, which is written so, or as the name alone. */ -}}
{workload:String} IN ({{.}}, substring({{.}}, position({{.}}, '/') + 1))
