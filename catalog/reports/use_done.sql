{{- /* Included by use_rolled.sql: whether a day is done in all rollups of its cluster. One that is being summed up is not. */ -}}
toUInt16({{.}}) < transform(toString(cluster), mapKeys(rolled), arrayMap(r -> toUInt16(intDiv(r.2, 86400000000)), mapValues(rolled)), toUInt16(0))
