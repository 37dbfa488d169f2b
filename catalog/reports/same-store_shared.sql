{{- /* Included by same-store.sql and same-store-first.sql, behind stores: the stores that several volumes have, or,
where pods can name it, one volume and perhaps a pod, or two clusters. */ -}}
SELECT sipHash128(s.store) AS hash
FROM stores AS s
LEFT JOIN
(
    SELECT source_key AS source, count() AS volumes FROM volumes FINAL WHERE {{template "existed.sql"}} GROUP BY source
) AS v ON v.source = s.id_key
GROUP BY hash
HAVING sum(v.volumes) > 1 OR any(s.kind) != 'csi' AND (sum(v.volumes) > 0 OR min(s.cluster) != max(s.cluster))
