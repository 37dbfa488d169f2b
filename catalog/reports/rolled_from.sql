{{- /* Included by in_edge.sql and in_first_part.sql, behind windows.sql: when the days of the rollups begin that a row's cluster has. Details
of a cluster without such days are in the part before them. */ -}}
transform(cluster, mapKeys(rolled), arrayMap(r -> r.1, mapValues(rolled)), ended_micros)
