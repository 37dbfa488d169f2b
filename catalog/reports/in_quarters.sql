{{- /* Included by other reports, behind changed_since.sql: the rows of mounts_quarterly that are right for the window. */ -}}
quarter >= {quarters_begin:DateTime64(6, 'UTC')} AND quarter < {quarters_end:DateTime64(6, 'UTC')} AND pods != 0
  AND (empty(changed) OR (cluster, namespace, claim_name, quarter) NOT IN (SELECT c.1, c.2, c.3, c.4 FROM (SELECT arrayJoin(changed) AS c)))
