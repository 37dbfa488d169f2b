-- Whether any pod waits that has not started, or a claim exists whose deletion was requested. Mostly none does, and the report need not be asked.
SELECT 1
FROM
(
    SELECT 1 FROM pods FINAL
    WHERE {{template "pending.sql"}}
    LIMIT 1
    UNION ALL
    SELECT 1 FROM claims FINAL
    WHERE deleted_at IS NULL
      AND ({cluster:String} = '' OR cluster = {cluster:String})
      AND ({namespace:String} = '' OR namespace = {namespace:String})
      AND (cluster, uid) IN
          (
              SELECT cluster, uid FROM changes
              WHERE kind = 'PersistentVolumeClaim' AND action = 'deleting'
                AND ({cluster:String} = '' OR cluster = {cluster:String})
                AND ({namespace:String} = '' OR namespace = {namespace:String})
          )
    LIMIT 1
)
LIMIT 1
