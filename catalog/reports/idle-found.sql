-- Finds the rows of idle-moment.sql. They are a statement of their own, because ClickHouse would analyse them again for
-- each place that names them.
WITH
{{template "idle_watched.sql"}},
{{template "idle_candidates.sql" .}}
{{template "idle_rows.sql"}}
