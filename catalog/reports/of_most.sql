{{- /* Included by uses_chosen.sql and prewhere_found.sql, behind the tuple bound (volumes by claims, inline volumes,
creation in microseconds): selects the mounts of pods whose specs have more volumes than that, or as many and the pod is
not younger. A pod's volumes never change, so PREWHERE may compare them before FINAL. */ -}}
(claim_volumes > bound.1 OR claim_volumes = bound.1 AND (inline_volumes > bound.2 OR inline_volumes = bound.2 AND toUnixTimestamp64Micro(pod_created_at) <= bound.3))
