{{- /* Included by in_edge.sql and in_last_part.sql, behind windows.sql: when the days of the rollups end that a row's cluster has. */ -}}
transform(cluster, mapKeys(rolled), arrayMap(r -> r.2, mapValues(rolled)), ended_micros)
