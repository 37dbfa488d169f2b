{{- /* Included by other reports: the volumes that the claims which --namespace, --owner and --group choose have or had. */ -}}
SELECT cluster, volume_uid FROM claims AS c WHERE {{template "claim_filter.sql"}} AND volume_uid != ''
           UNION DISTINCT
           SELECT cluster, volume_uid FROM bindings WHERE (cluster, claim_uid) IN (SELECT cluster, uid FROM claims AS c WHERE {{template "claim_filter.sql"}})
