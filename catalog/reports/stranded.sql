-- The volumes whose node affinity no living node meets, and those that are kept on one node by its name which another node has now.
-- A node is gone once its deletion was observed, or another node has its name. The labels of nodes and the affinities of volumes
-- are the latest ones. The terms of an affinity are alternatives, and all requirements of a term have to be met.
-- A value that was masked because its key looks like that of a secret counts as met.
-- A node that came back by its old name may be the same machine, so those rows say "presumed", and a volume that was used after
-- the new node came has none. A cluster has rows only where nodes are watched as long as volumes are: otherwise
-- nobody knows which nodes live.
WITH
watched AS
(
    SELECT cluster FROM coverage
    GROUP BY cluster
    HAVING maxIf(coalesce(ended_at, seen_at), kind = 'Node') >= maxIf(coalesce(ended_at, seen_at), kind = 'PersistentVolume') - INTERVAL 5 MINUTE
       AND countIf(kind = 'Node') > 0
),
affinities AS
(
    SELECT DISTINCT cluster, node_affinity AS affinity
    FROM volumes
    WHERE {{template "stranded_volumes.sql"}}
),
-- The terms of each affinity, with one requirement by whose values the nodes are found: of a host name before others. A term
-- without such a requirement is compared with each node.
terms AS
(
    SELECT
        cluster, affinity, term,
        arrayFirst(r -> r.2 = 'In' AND r.1 IN ('kubernetes.io/hostname', 'metadata.name'), term) AS by_host,
        if(by_host.1 != '', by_host, arrayFirst(r -> r.2 = 'In', term)) AS found_by,
        found_by.1 AS found_key,
        arrayJoin(if(found_key = '', [''], found_by.3)) AS found_value
    FROM
    (
        SELECT
            cluster, affinity,
            arrayMap(
                r -> (JSONExtractString(r, 'key'), JSONExtractString(r, 'operator'), JSONExtract(r, 'values', 'Array(String)')),
                arrayConcat(JSONExtractArrayRaw(raw, 'matchExpressions'), JSONExtractArrayRaw(raw, 'matchFields'))) AS term
        FROM affinities
        ARRAY JOIN JSONExtractArrayRaw(affinity) AS raw
    )
    WHERE notEmpty(term)
),
-- Each version of each node, and until when it was so; NULL for what lives.
nodes AS
(
    SELECT
        n.cluster AS cluster, n.uid AS uid, n.name AS name, n.labels AS labels, n.created_at AS created_at,
        multiIf(n.next_at IS NOT NULL, n.next_at, d.deleted_at >= n.last_at AND (l.successor_at IS NULL OR d.deleted_at <= l.successor_at), d.deleted_at, l.successor_at) AS ended_at
    FROM
    (
        SELECT
            cluster, uid, toString(name) AS name,
            parseDateTime64BestEffortOrZero(JSONExtractString(object, 'metadata', 'creationTimestamp'), 6, 'UTC') AS created_at,
            leadInFrame(toNullable(observed_at)) OVER versions AS next_at,
            max(observed_at) OVER versions AS last_at,
            JSONExtract(object, 'metadata', 'labels', 'Map(String, String)') AS said,
            -- Volumes of old name zones and regions by labels that nodes no longer have.
            mapUpdate(mapFilter((k, v) -> v != '', mapFromArrays(
                ['metadata.name', 'failure-domain.beta.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/region'],
                [name, said['topology.kubernetes.io/zone'], said['topology.kubernetes.io/region']])), said) AS labels
        FROM objects
        WHERE kind = 'Node' AND cluster IN (SELECT cluster FROM watched)
        WINDOW versions AS (PARTITION BY cluster, uid ORDER BY observed_at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ) AS n
    INNER JOIN
    (
        -- The next node of the same name.
        SELECT cluster, uid, leadInFrame(toNullable(created_at)) OVER (PARTITION BY cluster, name ORDER BY created_at, uid ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS successor_at
        FROM
        (
            SELECT cluster, uid, any(name) AS name, min(parseDateTime64BestEffortOrZero(JSONExtractString(object, 'metadata', 'creationTimestamp'), 6, 'UTC')) AS created_at
            FROM objects
            WHERE kind = 'Node'
            GROUP BY cluster, uid
        )
    ) AS l ON l.cluster = n.cluster AND l.uid = n.uid
    LEFT JOIN
    (
        SELECT cluster, uid, max(toNullable(at)) AS deleted_at FROM changes WHERE kind = 'Node' AND namespace = '' AND action = 'deleted' GROUP BY cluster, uid
    ) AS d ON d.cluster = n.cluster AND d.uid = n.uid
),
-- The nodes that met each affinity: those that live, with whether the affinity names the node, and those that are gone.
met AS
(
    SELECT
        cluster, affinity,
        groupUniqArrayIf((name, created_at, is_named), ended_at IS NULL) AS living,
        groupUniqArrayIf((name, uid, assumeNotNull(ended_at)), ended_at IS NOT NULL) AS gone
    FROM
    (
        SELECT
            t.cluster AS cluster, t.affinity AS affinity, n.uid AS uid, n.name AS name, n.created_at AS created_at, n.ended_at AS ended_at,
            arrayExists(r -> r.2 = 'In' AND (r.1 = 'kubernetes.io/hostname' OR has(r.3, n.name)), t.term) AS is_named
        FROM terms AS t
        INNER JOIN
        (
            SELECT cluster, uid, name, labels, created_at, ended_at, arrayJoin(arrayConcat([('', '')], arrayZip(mapKeys(labels), mapValues(labels)))) AS label, label.1 AS k, label.2 AS v
            FROM nodes
        ) AS n ON n.cluster = t.cluster AND n.k = t.found_key AND n.v = t.found_value
        WHERE arrayAll(r -> multiIf(
            n.labels[r.1] = '***', true,
            r.2 = 'In', mapContains(n.labels, r.1) AND has(r.3, n.labels[r.1]),
            r.2 = 'NotIn', NOT mapContains(n.labels, r.1) OR NOT has(r.3, n.labels[r.1]),
            r.2 = 'Exists', mapContains(n.labels, r.1),
            r.2 = 'DoesNotExist', NOT mapContains(n.labels, r.1),
            r.2 = 'Gt', ifNull(toInt64OrNull(n.labels[r.1]) > toInt64OrNull(r.3[1]), false),
            r.2 = 'Lt', ifNull(toInt64OrNull(n.labels[r.1]) < toInt64OrNull(r.3[1]), false),
            true), t.term)
    )
    GROUP BY cluster, affinity
)
SELECT
    v.cluster AS cluster,
    v.name AS persistentvolume,
    if(empty(m.living), 'no node', 'presumed: another node has the name') AS reason,
    arrayStringConcat(arrayMap(
        term -> arrayStringConcat(arrayMap(
            r -> trim(concat(JSONExtractString(r, 'key'), ' ', JSONExtractString(r, 'operator'), ' ', arrayStringConcat(JSONExtract(r, 'values', 'Array(String)'), ', '))),
            arrayConcat(JSONExtractArrayRaw(term, 'matchExpressions'), JSONExtractArrayRaw(term, 'matchFields'))), '; '),
        JSONExtractArrayRaw(m.affinity)), ' or ') AS topology,
    m.last_node.1 AS node,
    if(node = '', NULL, greatest(m.last_node.3, ifNull(v.created_at, m.last_node.3))) AS stranded_since,
    if(stranded_since IS NULL, NULL, greatest(0, dateDiff('second', stranded_since, {now:DateTime64(6, 'UTC')}))) AS stranded_seconds,
    {{template "claim_or_named.sql" "v"}},
    c.owner AS owner,
    c.groups AS groups,
    v.storage_class AS storage_class,
    v.capacity_bytes AS capacity_bytes,
    v.phase AS phase,
    u.last_pod AS last_pod,
    trim(BOTH '/' FROM concat(u.last_workload_kind, '/', u.last_workload_name)) AS last_workload,
    u.last_ended_at AS last_used_at
FROM
(
    SELECT cluster, uid, uid_key, name, node_affinity, claim_key, {{template "named_claim.sql"}}, storage_class, capacity_bytes, phase, created_at
    FROM volumes
    WHERE {{template "stranded_volumes.sql"}}
) AS v
INNER JOIN
(
    -- The last node that met the affinity; of a name that was used again, the node before. A volume is not stranded if a living node
    -- meets its affinity that the affinity does not name: most volumes are left out here. Without a living node the condition is true.
    SELECT a.cluster AS cluster, a.affinity AS affinity, m.living AS living, m.gone AS gone,
        arrayLast(g -> empty(m.living) OR g.3 <= arrayMax(m.living.2), arraySort(g -> g.3, m.gone)) AS last_node
    FROM affinities AS a
    LEFT JOIN met AS m ON m.cluster = a.cluster AND m.affinity = a.affinity
    WHERE arrayAll(n -> n.3, m.living) -- is_named
) AS m ON m.cluster = v.cluster AND m.affinity = v.node_affinity
LEFT JOIN (SELECT uid_key, namespace, name, owner, groups FROM claims AS c WHERE {{template "claim_filter.sql"}}) AS c ON c.uid_key = v.claim_key
LEFT JOIN (SELECT volume_key, in_use, last_pod, last_workload_kind, last_workload_name, last_ended_at FROM volume_uses) AS u ON u.volume_key = v.uid_key
WHERE empty(m.living)
   OR arrayAll(n -> n.2 > v.created_at AND arrayExists(g -> g.1 = n.1 AND g.3 > v.created_at AND g.3 <= n.2, m.gone), m.living)
      AND NOT u.in_use AND (u.last_ended_at IS NULL OR u.last_ended_at <= arrayMax(m.living.2))
ORDER BY stranded_since, cluster, persistentvolume, v.uid
LIMIT {limit:UInt64}
