-- The spans in which pods were watched. They become a parameter, as the namespaces of namespaces.sql do, and for the same reasons there
-- may be no row: beside namespaces, the address has place for ten spans.
SELECT toString(groupArray((toString(watched_cluster), started_micros, ended_micros, goes_on, before_micros, last_ended_micros))) AS watched_spans
FROM
(
{{template "watched_spans.sql"}}
)
{{- if given "cluster"}}
WHERE watched_cluster = {cluster:String}
{{- end}}
HAVING count() > 0 AND length(watched_spans) <= 800 AND position(watched_spans, '\\') = 0
