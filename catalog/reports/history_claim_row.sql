{{- /* Included by history-found.sql: history_claim.sql of a row of claims. */ -}}
cityHash64(cluster, namespace, name, '', '')