{{- /* Included by other reports: selects mounts of claims, and of the backing stores in the table found, which has
source_kind and source_id only where claim_name is empty. */ -}}
(claim_name != '' OR (cluster, namespace, source_kind, source_id) IN (SELECT cluster, namespace, source_kind, source_id FROM found WHERE claim_name = ''))
