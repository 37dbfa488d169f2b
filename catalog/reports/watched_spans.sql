{{- /* Included by idle.sql, idle_watched.sql and spans.sql: the spans of watched.sql, and when the last one of the cluster ended. idle
has them in three places and idle --at in four, so the program asks for them first. */ -}}
{{if given "watched_spans"}}    SELECT s.1 AS watched_cluster, s.2 AS started_micros, s.3 AS ended_micros, s.4 AS goes_on, s.5 AS before_micros, s.6 AS last_ended_micros
    FROM (SELECT arrayJoin({watched_spans:Array(Tuple(String, Int64, Int64, UInt8, Int64, Int64))}) AS s)
{{- else}}    SELECT cluster AS watched_cluster, started_micros, ended_micros, goes_on, before_micros, max(ended_micros) OVER (PARTITION BY cluster) AS last_ended_micros
    FROM
    (
{{template "watched.sql"}}
    )
{{- end}}
