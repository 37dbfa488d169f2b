{{- /* Included by history-found.sql: a hash of a claim, or of a backing store that pods name themselves. */ -}}
cityHash64(cluster, namespace, claim_name, if(claim_name = '', source_kind, ''), if(claim_name = '', source_id, ''))
