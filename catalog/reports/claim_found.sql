{{- /* Included by prewhere_found.sql and in_changed.sql: compares a claim with those in the table found, by a hash. */ -}}
cityHash64(cluster, namespace, claim_name) IN (SELECT cityHash64(cluster, namespace, claim_name) FROM found)
