{{- /* Included by other reports, behind changed_since.sql: whether a mount is one of those that the sums of its quarter are not right for. */ -}}
pod_created_at >= {quarters_begin:DateTime64(6, 'UTC')} AND pod_created_at < {quarters_end:DateTime64(6, 'UTC')}
      AND (cluster, namespace, claim_name, toStartOfQuarter(pod_created_at)) IN (SELECT c.1, c.2, c.3, c.4 FROM (SELECT arrayJoin(changed) AS c))
