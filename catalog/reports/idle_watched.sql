{{- /* Included by idle-moment.sql and idle-found.sql: the moment, and when pods were watched. */ -}}
{until:DateTime64(6, 'UTC')} AS moment,
toUnixTimestamp64Micro(moment) AS moment_micros,
spans AS
(
{{template "watched_spans.sql"}}
),
watched AS
(
    SELECT watched_cluster, started_micros, least(ended_micros, moment_micros) AS ended_micros, before_micros, last_ended_micros
    FROM spans
    WHERE started_micros <= moment_micros
)
