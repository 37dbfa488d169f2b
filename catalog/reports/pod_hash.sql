{{- /* Included by other reports that count pods: a pod as a hash of 64 bits, which takes a quarter less time than its
UID. Two of a million pods of a volume have the same hash with a chance of 1 in 37 million. */ -}}
cityHash64(pod_uid)
