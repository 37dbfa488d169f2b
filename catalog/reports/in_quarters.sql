{{- /* Included by other reports, which have a table changed of changed_claims.sql: the rows of mounts_quarterly that are right for the window. */ -}}
{{template "summed_rows.sql"}}
  AND ({changed_claims:UInt64} = 0 OR (cluster, namespace, claim_name, toYYYYMM(quarter)) NOT IN (SELECT cluster, namespace, claim_name, quarter_number FROM changed))
