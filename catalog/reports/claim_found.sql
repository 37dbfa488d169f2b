{{- /* Included by prewhere_found.sql and in_changed.sql: whether a claim has the same hash as one in the table found. */ -}}
cityHash64(cluster, namespace, claim_name) IN (SELECT cityHash64(cluster, namespace, claim_name) FROM found)
