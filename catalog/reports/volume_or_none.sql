{{- /* Included by pods-per-volume-found.sql: a hash of a volume; 0 for none. */ -}}
if(volume_uid = '', 0, cityHash64(cluster, volume_uid))
