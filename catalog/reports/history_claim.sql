{{- /* Included by history.sql, history-found.sql and history_latest.sql: the hash of a claim, or of a backing store that a pod
names itself, over mounts or claims. place_hash of mounts_quarterly is computed in the same way. */ -}}
cityHash64(cluster, namespace, claim_name, if(claim_name = '', source_kind, ''), if(claim_name = '', source_id, ''))
