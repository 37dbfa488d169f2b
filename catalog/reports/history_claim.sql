{{- /* Included by history-found.sql: the hash of a claim, or of a backing store that a pod names itself. */ -}}
cityHash64(cluster, namespace, claim_name, if(claim_name = '', source_kind, ''), if(claim_name = '', source_id, ''))
