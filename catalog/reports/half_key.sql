{{- /* Included by other reports, with a column that has the key of a cluster and a UID: its upper half, which is cityHash64 of both. To
read it takes a third as long as to hash them. mounts_quarterly has the key 0 where there is no UID. */ -}}
toUInt64(bitShiftRight({{.}}, 64))
