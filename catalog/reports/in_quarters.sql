{{- /* Included by other reports, behind changed_since.sql: the rows of mounts_quarterly that are right for the window. */ -}}
{{template "summed_rows.sql"}}
  AND (empty(changed) OR (cluster, namespace, claim_name, quarter) NOT IN (SELECT c.1, c.2, c.3, c.4 FROM (SELECT arrayJoin(changed) AS c)))
