{{- /* Included by space_parts.sql: the claims that the filters choose. */ -}}
SELECT cluster, uid FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}
