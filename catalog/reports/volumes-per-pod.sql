-- How many volumes each pod mounted, at a moment or in a window, most first. A backing store that the pod names itself
-- (hostPath, emptyDir, nfs, ...) counts as inline. Of pods with as many, the oldest comes first; of those of the same
-- second, --limit shows some, always the same ones. A window can have millions of pods. So the report counts hashes of
-- volumes, and reads claims and names only of the pods that it shows.
WITH
{{if found . -}}
(SELECT (bound_volumes, bound_inline, bound_micros) FROM found) AS bound,
{{template "volumes_of_pods.sql" "most"}},
{{- else -}}
{{template "volumes_of_pods.sql" .}},
{{- end}}
(
    SELECT groupArray((pod_key, volumes, inline, created_at))
    FROM
    (
        SELECT pod_key, countIf(volume != 0) AS volumes, countIf(inline_source != 0) AS inline, any(m.created_at) AS created_at
        FROM mounted AS m
        GROUP BY pod_key
        ORDER BY volumes DESC, inline DESC, created_at, pod_key
        LIMIT {limit:UInt64}
    )
) AS pods_shown,
shown AS (SELECT s.1 AS pod_key, s.2 AS volumes, s.3 AS inline, s.4 AS created_at FROM (SELECT arrayJoin(pods_shown) AS s))
SELECT
    m.cluster AS cluster,
    m.namespace AS namespace,
    p.name AS pod,
    m.workload AS workload,
    p.node AS node,
    s.volumes AS volumes,
    s.inline AS inline,
    m.claims AS claims
FROM shown AS s
LEFT JOIN
(
    SELECT
        {{key "c.cluster, c.pod_uid"}} AS pod_key,
        any(c.cluster) AS cluster, any(c.namespace) AS namespace, any(concat(c.workload_kind, '/', c.workload_name)) AS workload,
        arraySort(groupUniqArrayIf(c.claim_name, c.claim_name != '')) AS claims
    FROM counted AS c
    WHERE c.pod_created_at >= arrayMin(pods_shown.4) AND c.pod_created_at <= arrayMax(pods_shown.4) AND {{key "c.cluster, c.pod_uid"}} IN (SELECT pod_key FROM shown)
    GROUP BY pod_key
) AS m ON m.pod_key = s.pod_key
LEFT JOIN
(
    SELECT {{key "cluster, uid"}} AS pod_key, name, node FROM pods FINAL
    WHERE created_at >= arrayMin(pods_shown.4) AND created_at <= arrayMax(pods_shown.4) AND {{template "in_namespaces.sql"}}
      AND {{key "cluster, uid"}} IN (SELECT pod_key FROM shown)
) AS p ON p.pod_key = s.pod_key
ORDER BY s.volumes DESC, s.inline DESC, s.created_at, cluster, namespace, pod, s.pod_key
