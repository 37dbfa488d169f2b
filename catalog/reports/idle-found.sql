-- The rows of idle-moment.sql: ClickHouse resolves them again for each place that names them, so they are asked for before the rest.
WITH
{{template "idle_watched.sql"}},
{{template "idle_candidates.sql" .}}
{{template "idle_rows.sql"}}
