-- How many volumes each pod mounted, at a moment or in a window, most first. A backing store that the pod names itself
-- (hostPath, emptyDir, nfs, ...) counts as inline. Of those with as many the oldest comes first; --limit chooses by chance among those of the same second.
-- Millions of pods can be in a window. So volumes are counted by hashes, and claims and names are read of the pods that are shown.
WITH
{{if found . -}}
(SELECT (bound_volumes, bound_inline, bound_micros) FROM found) AS bound,
{{template "volumes_of_pods.sql" "most"}},
{{- else -}}
{{template "volumes_of_pods.sql" .}},
{{- end}}
(
    SELECT groupArray((pod1, pod2, volumes, inline, created_at))
    FROM
    (
        SELECT pod1, pod2, countIf(volume != 0) AS volumes, countIf(inline_source != 0) AS inline, any(m.created_at) AS created_at
        FROM mounted AS m
        GROUP BY pod1, pod2
        ORDER BY volumes DESC, inline DESC, created_at, pod1, pod2
        LIMIT {limit:UInt64}
    )
) AS pods_shown,
shown AS (SELECT s.1 AS pod1, s.2 AS pod2, s.3 AS volumes, s.4 AS inline, s.5 AS created_at FROM (SELECT arrayJoin(pods_shown) AS s))
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
        cityHash64(c.cluster, c.pod_uid) AS pod1, farmHash64(c.cluster, c.pod_uid) AS pod2,
        any(c.cluster) AS cluster, any(c.namespace) AS namespace, any(concat(c.workload_kind, '/', c.workload_name)) AS workload,
        arraySort(groupUniqArrayIf(c.claim_name, c.claim_name != '')) AS claims
    FROM counted AS c
    WHERE c.pod_created_at >= arrayMin(pods_shown.5) AND c.pod_created_at <= arrayMax(pods_shown.5) AND ({{hashes "c.cluster, c.pod_uid"}}) IN (SELECT pod1, pod2 FROM shown)
    GROUP BY pod1, pod2
) AS m ON m.pod1 = s.pod1 AND m.pod2 = s.pod2
LEFT JOIN
(
    SELECT cityHash64(cluster, uid) AS pod1, farmHash64(cluster, uid) AS pod2, name, node FROM pods FINAL
    WHERE created_at >= arrayMin(pods_shown.5) AND created_at <= arrayMax(pods_shown.5) AND {{template "uses_of.sql" .}}
      AND ({{hashes "cluster, uid"}}) IN (SELECT pod1, pod2 FROM shown)
) AS p ON p.pod1 = s.pod1 AND p.pod2 = s.pod2
ORDER BY s.volumes DESC, s.inline DESC, s.created_at, cluster, namespace, pod, s.pod1, s.pod2
