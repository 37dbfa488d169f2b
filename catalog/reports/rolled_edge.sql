{{- /* Included by in_edge.sql, in_first_part.sql and in_last_part.sql, behind windows.sql: when the days of the rollups begin, with "1", or end,
with "2", that a row's cluster has. Details of a cluster without such days are in the part before them. */ -}}
transform(cluster, mapKeys(rolled), arrayMap(r -> r.{{.}}, mapValues(rolled)), ended_micros)
