{{- /* Included by use_rolled.sql: selects the days that are done in all rollups of their cluster. A day that is being
summed up is not done. */ -}}
toUInt16({{.}}) < transform(cluster, mapKeys(rolled), arrayMap(r -> toUInt16(intDiv(r.2, 86400000000)), mapValues(rolled)), toUInt16(0))
