{{- /* Included by other reports that count pods: a hash of 64 bits stands for a pod, which takes a quarter less time than its UID. That two of a million pods
of one volume have the same hash has a chance of 1 in 37 million. */ -}}
cityHash64(pod_uid)
