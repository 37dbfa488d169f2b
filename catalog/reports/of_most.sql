{{- /* Included by uses_chosen.sql and prewhere_found.sql, behind bound, a tuple of a pod's volumes, of its backing stores without a claim, and of when it was created, in microseconds: the
mounts of the pods that by their specs can have more than that, or as much and are as old. What a spec has never changes, so this can be asked before FINAL has chosen among rows. */ -}}
(claim_volumes > bound.1 OR claim_volumes = bound.1 AND (inline_volumes > bound.2 OR inline_volumes = bound.2 AND toUnixTimestamp64Micro(pod_created_at) <= bound.3))
