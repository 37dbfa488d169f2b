{{- /* Included by pods-per-volume-found.sql: the hash of a mount's volume; 0 without one. */ -}}
if(volume_uid = '', 0, cityHash64(cluster, volume_uid))
