{{- /* Included by space_parts.sql, with a kind: for each volume, or each claim, when it was resized, and by how many bytes. It selects
the volumes in volume_keys, and the claims in the selected namespaces. */ -}}
SELECT object, groupArray((toUnixTimestamp64Micro(changed_at), bytes)) AS resizes
FROM
(
    SELECT
        {{key "cluster, uid"}} AS object, changed_at,
        {{template "change_of_size.sql"}}
    FROM
    (
        -- Two trackers can have dated the same change differently.
        SELECT cluster, uid, details, resource_version, min(at) AS changed_at
        FROM changes FINAL
{{- if eq . "PersistentVolume"}}
        PREWHERE action = 'resized'
        WHERE kind = 'PersistentVolume' AND namespace = ''{{filter "cluster"}}
{{- if given "namespace" "owner" "group"}}
          AND {{listed (key "cluster, uid") "volume_keys"}}
{{- end}}
{{- else}}
        PREWHERE action = 'resize_requested'
        WHERE kind = 'PersistentVolumeClaim' AND {{template "in_namespaces.sql"}}
{{- end}}
        GROUP BY cluster, uid, details, resource_version
    )
)
GROUP BY object
