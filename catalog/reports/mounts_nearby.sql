{{- /* Included by mounts.sql: selects the mounts among which the rows of the report are. */ -}}
FROM mounts
    WHERE pod_created_at >= {oldest:DateTime64(6, 'UTC')} AND started_at >= {earliest:DateTime64(6, 'UTC')} AND {{template "chosen_mounts.sql"}}
