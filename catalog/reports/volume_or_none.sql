{{- /* Included by pods-per-volume-found.sql: the hash of a mount's volume; 0 without one. It is the upper half of
volume_key of mounts_quarterly. */ -}}
if(volume_uid = '', 0, cityHash64(cluster, volume_uid))
