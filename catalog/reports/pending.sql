{{- /* Included by blocked.sql and blocked-first.sql, over pods: those that wait: no container of theirs has started. The first step leaves out by its index what was deleted long
ago. */ -}}
(cluster, namespace, created_at) IN (SELECT cluster, namespace, created_at FROM pods WHERE deleted_at IS NULL AND phase = 'Pending' AND started_at IS NULL)
      AND deleted_at IS NULL AND phase = 'Pending' AND started_at IS NULL{{filter "cluster" "namespace"}}
