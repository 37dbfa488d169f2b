{{- /* Included by blocked.sql and blocked-first.sql, over pods: selects the pods that wait, without a started
container. An index skips the pods that were deleted long ago. */ -}}
(cluster, namespace, created_at) IN
          (
              SELECT cluster, namespace, created_at FROM pods
              WHERE deleted_at IS NULL AND phase = 'Pending' AND started_at IS NULL AND {{template "in_namespaces.sql"}}
          )
      AND deleted_at IS NULL AND phase = 'Pending' AND started_at IS NULL
