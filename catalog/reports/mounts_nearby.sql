{{- /* Included by mounts.sql: FROM and WHERE of a query of the mounts among which
the rows of the report are. It is without FINAL, so replaced rows may add some. */ -}}
FROM mounts
    WHERE pod_created_at >= {oldest:DateTime64(6, 'UTC')} AND started_at >= {earliest:DateTime64(6, 'UTC')} AND {{template "chosen_mounts.sql"}}
