{{- /* Included by other reports, with a column that has the key of a cluster and a UID: its upper half, which is cityHash64(cluster, uid). To
read it takes a third as long as to hash them. */ -}}
toUInt64(bitShiftRight({{.}}, 64))
