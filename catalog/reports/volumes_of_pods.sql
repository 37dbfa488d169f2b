{{- /* Included by volumes-per-pod.sql and volumes-per-pod-found.sql: what each pod mounted. Its argument is the kind of
window, or "most" for the pods of of_most.sql. */ -}}
{{template "uses_chosen.sql" .}},
-- A mount that was written before its volume was known gets the volume of its claim. transform needs arrays with an
-- element, so each gets an empty one.
(
    SELECT (groupArray(concat(cluster, ' ', uid)), groupArray(volume_uid)) FROM claims FINAL
    WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched WHERE volume_uid = '' AND claim_uid != '')
) AS late,
counted AS
(
    SELECT *
    FROM
    (
        SELECT
            cluster, namespace, pod_created_at, pod_uid, workload_kind, workload_name, claim_uid, claim_name, source_kind, source_id, volume AS name_in_pod,
            if(volume_uid != '' OR claim_uid = '', volume_uid, transform(concat(cluster, ' ', claim_uid), arrayPushBack(late.1, ''), arrayPushBack(late.2, ''), '')) AS volume_uid
        FROM chosen
    ) AS o
    WHERE {{template "owned_class.sql"}}
),
-- One row per pod and what it mounted. The source of a store is what the spec says of it. Two emptyDirs of a pod can say the same, as
-- can gitRepos and inline CSI volumes, and are two stores. So their names in the pod count, too.
mounted AS
(
    SELECT
        {{key "cluster, pod_uid"}} AS pod_key,
        if(volume_uid = '', 0, cityHash64(volume_uid)) AS volume, if(claim_name = '', cityHash64(source_kind, source_id, if(source_kind IN ('emptyDir', 'csi', 'gitRepo'), name_in_pod, '')), 0) AS inline_source,
        any(pod_created_at) AS created_at
    FROM counted
    GROUP BY pod_key, volume, inline_source
)
