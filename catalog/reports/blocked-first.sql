-- Whether any pod waits to start, or a claim waits to be deleted. Mostly nothing waits; then the program does not ask the report.
SELECT 1
FROM
(
    SELECT 1 FROM pods FINAL
    {{template "pending.sql"}}
    LIMIT 1
    UNION ALL
    SELECT 1 FROM claims FINAL
    WHERE deleted_at IS NULL AND {{template "in_namespaces.sql"}}
      AND (cluster, uid) IN
          (
              SELECT cluster, uid FROM changes
              WHERE kind = 'PersistentVolumeClaim' AND action = 'deleting' AND {{template "in_namespaces.sql"}}
          )
    LIMIT 1
)
LIMIT 1
