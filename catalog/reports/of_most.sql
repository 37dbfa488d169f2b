{{- /* Included by uses_chosen.sql and prewhere_found.sql, behind least, a tuple: the mounts of the pods that by their specs can mount as many volumes as that, or more. Of pods with as many,
those that are as old. What a spec has never changes, so this can be asked before FINAL has chosen among rows. */ -}}
(claim_volumes > least.1 OR claim_volumes = least.1 AND (inline_volumes > least.2 OR inline_volumes = least.2 AND toUnixTimestamp64Micro(pod_created_at) <= least.3))
