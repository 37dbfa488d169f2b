{{- /* Included by blocked_waits.sql, behind pods FINAL: PREWHERE and WHERE, which select the pods that are
Pending. An index skips the pods that were deleted long ago, and PREWHERE by a number of the sorting
key the other columns of pods that are not. */ -}}
PREWHERE created_at IN
          (
              SELECT created_at FROM pods
              WHERE deleted_at IS NULL AND phase = 'Pending' AND {{template "in_namespaces.sql"}}
          )
    WHERE deleted_at IS NULL AND phase = 'Pending' AND {{template "in_namespaces.sql"}}
