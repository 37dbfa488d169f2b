{{- /* Included by other reports, which have a table changed of changed_claims.sql: whether a mount is one of those that the sums of its quarter are not right for. */ -}}
{changed_claims:UInt64} != 0 AND pod_created_at >= {quarters_begin:DateTime64(6, 'UTC')} AND pod_created_at < {quarters_end:DateTime64(6, 'UTC')}
      AND (cluster, namespace, claim_name, toYYYYMM(toStartOfQuarter(pod_created_at))) IN (SELECT cluster, namespace, claim_name, quarter_number FROM changed)
