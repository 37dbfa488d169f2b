-- Included by same-store.sql: the volumes whose node affinity names one node, by its host name or its name.
-- Each term has to name that node, because the terms are alternatives.
SELECT cluster, uid, names[1] AS node
FROM
(
    SELECT
        cluster, uid,
        arrayMap(
            term -> arrayFirst(name -> name != '', arrayMap(
                e -> if(JSONExtractString(e, 'key') IN ('kubernetes.io/hostname', 'metadata.name') AND JSONExtractString(e, 'operator') = 'In' AND JSONLength(e, 'values') = 1,
                    JSONExtractString(e, 'values', 1), ''),
                arrayConcat(JSONExtractArrayRaw(term, 'matchExpressions'), JSONExtractArrayRaw(term, 'matchFields')))),
            JSONExtractArrayRaw(node_affinity)) AS names
    FROM volumes FINAL
    WHERE source_kind IN ('local', 'hostPath') AND node_affinity != ''
)
WHERE notEmpty(names) AND names[1] != '' AND arrayUniq(names) = 1
