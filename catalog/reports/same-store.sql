-- The backing stores that several volumes have, or pods that name the store themselves beside a volume or in another cluster.
-- There is a row for each volume on such a store, and for each namespace whose pods name the store themselves.
-- A store is the same by kind, driver, server and path (for CSI, the handle), and not by its id: the id also covers fields such as
-- readOnly. Sources without an identity of their own are left out: emptyDir, images, volumes that a CSI driver makes for one
-- pod. A path of a node (local, hostPath) names a store on each node: that of the volume's node affinity, else that of each pod that
-- mounts it. Names are compared as they are written: in different clusters the same name may be another store, and of some
-- kinds the name leaves out a part, such as the account that only the Secret names. Then the row says "presumed".
-- Volumes that existed at the same time, or were used then, share the store; if one was gone before the other came, the store was reused.
-- Pods that name the store themselves are there from the first use to the last, but not in a pause of more than a week.
-- Uses overlap only where that is certain: from the latest start to the earliest end, and of uses that have not ended to the
-- last moment watched.
WITH
{{template "same-store_stores.sql"}},
-- The sources that several volumes may share, or pods with one of them. The lists are made once.
(
    SELECT groupArray((toString(cluster), id, store, backend, toString(kind), on_node))
    FROM stores
    WHERE sipHash128(store) IN
    (
        {{template "same-store_shared.sql"}}
    )
) AS candidate_list,
candidates AS
(
    SELECT c.1 AS cluster, c.2 AS id, c.3 AS store, c.4 AS backend, c.5 AS kind, c.6 AS on_node FROM (SELECT arrayJoin(candidate_list) AS c)
),
existing AS
(
    SELECT cluster, uid, source_id, (name, toString(storage_class), claim_uid, {{template "named_claim.sql"}}, created_at, deleted_at, deleted_not_before) AS volume
    FROM volumes FINAL
    WHERE {{template "existed.sql"}} AND (cluster, source_id) IN (SELECT cluster, id FROM candidates)
),
(
    SELECT groupArray((toString(cluster), toString(namespace), uid, name, volume_uid))
    FROM claims FINAL
    WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM existing)
       OR (cluster, uid) IN (SELECT cluster, claim_uid FROM bindings FINAL WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM existing))
) AS claim_list,
-- The keys of the mounts: of those by claims, and, by the index of sources, of those that pods name themselves.
(
    SELECT groupUniqArray((toString(cluster), toString(namespace), pod_created_at, source_id))
    FROM mounts
    WHERE claim_name = '' AND volume_uid = '' AND (cluster, source_id) IN (SELECT cluster, id FROM candidates WHERE kind != 'csi')
) AS inline_list,
mounted AS
(
    SELECT
        m.cluster AS cluster, m.namespace AS namespace, m.pod_uid AS pod_uid, m.source_id AS source_id,
        concat(m.pod_uid, ' ', m.container, ' ', m.volume, ' ', m.mount_path) AS mount,
        multiIf(m.volume_uid != '', m.volume_uid, m.claim_name != '', c.volume_uid, '') AS volume_uid,
        greatest(m.started_at, {since:DateTime64(6, 'UTC')}) AS began,
        least(coalesce(m.ended_not_before, m.ended_at, w.seen_until, {now:DateTime64(6, 'UTC')}), {until:DateTime64(6, 'UTC')}) AS ended
    FROM
    (
        SELECT *, ended_not_before FROM mounts FINAL
        WHERE (cluster, namespace, claim_name) IN (SELECT c.1, c.2, c.4 FROM (SELECT arrayJoin(claim_list) AS c))
        UNION ALL
        SELECT *, ended_not_before FROM mounts FINAL
        WHERE claim_name = '' AND volume_uid = '' AND (cluster, namespace, pod_created_at, source_id) IN (SELECT k.1, k.2, k.3, k.4 FROM (SELECT arrayJoin(inline_list) AS k))
    ) AS m
    LEFT JOIN (SELECT c.1 AS cluster, c.3 AS uid, c.5 AS volume_uid FROM (SELECT arrayJoin(claim_list) AS c)) AS c ON c.cluster = m.cluster AND c.uid = m.claim_uid
    LEFT JOIN
    (
        SELECT cluster, toNullable(least(max(coalesce(ended_at, seen_at)), {now:DateTime64(6, 'UTC')})) AS seen_until FROM coverage FINAL WHERE kind = 'Pod' GROUP BY cluster
    ) AS w ON w.cluster = m.cluster
    WHERE began < ended AND (m.claim_name = '' OR volume_uid != '')
),
pinned AS ({{template "pinned_nodes.sql"}}),
-- What is on each store: volumes, and their uses with the pods; a volume without a use has a row of its own.
presences AS
(
    SELECT s.store AS store, if(s.on_node, p.node, '') AS node, v.cluster AS cluster, v.uid AS uid, '' AS namespace, v.volume AS volume, s.backend AS backend, s.kind AS kind,
        '' AS mount, '' AS pod, toDateTime64(0, 6, 'UTC') AS began, toDateTime64(0, 6, 'UTC') AS ended
    FROM existing AS v
    INNER JOIN candidates AS s ON s.cluster = v.cluster AND s.id = v.source_id
    LEFT JOIN pinned AS p ON p.cluster = v.cluster AND p.uid = v.uid
    WHERE NOT s.on_node OR p.node != ''
    UNION ALL
    SELECT s.store, multiIf(NOT s.on_node, '', n.node != '', n.node, p.node), m.cluster, m.volume_uid, if(m.volume_uid = '', m.namespace, ''), v.volume, s.backend, s.kind,
        m.mount, concat(m.namespace, '/', p.name), m.began, m.ended
    FROM mounted AS m
    LEFT JOIN existing AS v ON v.cluster = m.cluster AND v.uid = m.volume_uid
    INNER JOIN candidates AS s ON s.cluster = m.cluster AND s.id = if(m.volume_uid = '', m.source_id, v.source_id)
    LEFT JOIN
    (
        SELECT cluster, uid, name, node FROM pods FINAL
        WHERE (cluster, namespace, created_at) IN
              (
                  SELECT cluster, namespace, pod_created_at FROM mounts WHERE (cluster, namespace, claim_name) IN (SELECT c.1, c.2, c.4 FROM (SELECT arrayJoin(claim_list) AS c))
                  UNION ALL
                  SELECT k.1, k.2, k.3 FROM (SELECT arrayJoin(inline_list) AS k)
              )
    ) AS p ON p.cluster = m.cluster AND p.uid = m.pod_uid
    LEFT JOIN pinned AS n ON n.cluster = m.cluster AND n.uid = m.volume_uid
    WHERE (NOT s.on_node OR n.node != '' OR p.node != '') AND (m.volume_uid = '' OR v.uid != '')
),
-- The moments at which a use begins (1) or ends (-1), and whether the volume was not used before (1) or is not used from then on (-1).
steps AS
(
    SELECT
        *,
        sum(delta) OVER (PARTITION BY store, node, cluster, uid, namespace ORDER BY at, delta DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS uses_then,
        toInt64(uses_then > 0) - toInt64(uses_then - delta > 0) AS turn
    FROM
    (
        SELECT
            store, node, cluster, uid, namespace, volume, backend, kind, mount, pod,
            arrayJoin(if(mount = '', [(began, toInt64(0))], [(began, toInt64(1)), (ended, toInt64(-1))])) AS step,
            step.1 AS at, step.2 AS delta
        FROM presences
    )
),
-- For how long, by each of these moments, two or more of the volumes on the store had been used at a time.
measured AS
(
    SELECT *, sum(if(used_before > 1, micros - micros_before, 0)) OVER (PARTITION BY store, node ORDER BY micros RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS shared_micros
    FROM
    (
        SELECT
            *,
            toUnixTimestamp64Micro(at) AS micros,
            sum(turn) OVER earlier - turn AS used_before,
            lagInFrame(toUnixTimestamp64Micro(at), 1, toUnixTimestamp64Micro(at)) OVER earlier AS micros_before
        FROM steps
        WINDOW earlier AS (PARTITION BY store, node ORDER BY at, delta DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
),
-- Each volume on each store: its life, and how long it was used while others were.
parts AS
(
    SELECT
        store, node, cluster, uid, backend, kind, shared_micros, shared_pods,
        volume.1 AS persistentvolume, volume.2 AS storage_class, volume.3 AS claim_uid, volume.5 AS claim, volume.6 AS created_at, volume.7 AS deleted_at,
        if(uid = '', u.namespace, volume.4) AS namespace,
        -- The life of a volume includes its uses: a volume can be deleted while it is used. If nobody knows when it was created, the life
        -- is certain for its uses alone.
        if(first_at = toDateTime64(0, 6, 'UTC'), coalesce(created_at, volume.8, {now:DateTime64(6, 'UTC')}), least(coalesce(created_at, first_at), first_at)) AS began,
        if(uid = '', last_at, greatest(coalesce(volume.8, volume.7, toDateTime64('2299-12-31 23:59:59', 6, 'UTC')), last_at)) AS ended,
        -- When it came (1) and went (-1).
        if(uid = '', stays, [(began, 1), (ended, -1)]) AS turns
    FROM
    (
        SELECT
            store, node, cluster, uid, namespace, any(m.volume) AS volume, any(backend) AS backend, any(kind) AS kind,
            minIf(m.first_at, mount != '') AS first_at, max(m.last_at) AS last_at,
            sum(m.shared_micros) AS shared_micros, arraySort(groupUniqArrayIf(pod, overlapped > 0)) AS shared_pods,
            -- A use lasts for a week more here, and when all of them are over, that week is taken off again.
            arraySort(x -> (x.1, -x.2), arrayConcat(
                groupArrayIf((m.first_at, 1), uid = '' AND mount != ''), groupArrayIf((m.last_at + INTERVAL 7 DAY, -1), uid = '' AND mount != ''))) AS edges,
            arrayFilter(x -> x.2 != 0, arrayMap(
                (x, there) -> multiIf(x.2 = 1 AND there = 1, (x.1, 1), there = 0, (x.1 - INTERVAL 7 DAY, -1), (x.1, 0)),
                edges, arrayCumSum(x -> x.2, edges))) AS stays
        FROM
        (
            SELECT
                store, node, cluster, uid, namespace, mount, pod, any(measured.volume) AS volume, any(backend) AS backend, any(kind) AS kind, min(at) AS first_at, max(at) AS last_at,
                max(measured.shared_micros) - min(measured.shared_micros) AS overlapped, -sum(measured.shared_micros * turn) AS shared_micros
            FROM measured
            GROUP BY store, node, cluster, uid, namespace, mount, pod
        ) AS m
        GROUP BY store, node, cluster, uid, namespace
    ) AS u
)
SELECT
    p.cluster AS cluster,
    p.persistentvolume AS persistentvolume,
    concat(if(p.presumed, 'presumed ', ''), if(p.is_shared, 'shared', 'reused')) AS state,
    p.kind AS source,
    p.backend AS backend,
    p.node AS node,
    p.namespace AS namespace,
    p.claim AS claim,
    c.owner AS owner,
    c.groups AS groups,
    p.storage_class AS storage_class,
    arraySort(arrayMap(o -> concat(if(o.1 = p.cluster, '', concat(o.1, '/')), if(o.3 = '', concat('pods in ', o.4), o.3)), p.others)) AS others,
    intDiv(p.shared_micros, 1000000) AS together_seconds,
    p.shared_pods AS pods_together,
    p.created_at AS created_at,
    p.deleted_at AS deleted_at
FROM
(
    SELECT
        *,
        NOT arrayExists(o -> o.1 = cluster, others)
            OR kind NOT IN ('csi', 'nfs', 'iscsi', 'fc', 'rbd', 'cephfs', 'local', 'hostPath', 'awsElasticBlockStore', 'azureDisk', 'cinder', 'vsphereVolume', 'portworxVolume') AS presumed,
        max(shared_micros) OVER (PARTITION BY store, node) AS most_shared
    FROM
    (
        SELECT *, notEmpty(sharers) AS is_shared, if(notEmpty(sharers), sharers, rest) AS others
        FROM
        (
            -- Two of which both are there at a moment are more than one then. At one moment, who goes goes before who comes.
            SELECT *, arrayFilter(o -> o.5 < ended AND o.6 > began
                    AND (uid != '' AND o.2 != '' OR arrayMax(arrayCumSum(x -> x.2, arraySort(arrayConcat(turns, o.7)))) > 1), rest) AS sharers
            FROM
            (
                SELECT *, arrayFilter(o -> (o.1, o.2, o.4) != (cluster, uid, if(uid = '', namespace, '')), here) AS rest
                FROM
                (
                    SELECT
                        *,
                        groupArray((toString(cluster), uid, persistentvolume, if(uid = '', toString(namespace), ''), began, ended, turns)) OVER (PARTITION BY store, node) AS here
                    FROM parts
                )
                WHERE length(here) > 1 AND arrayExists(o -> o.2 != '', here) OR arrayUniq(here.1) > 1
            )
        )
    )
) AS p
LEFT JOIN (SELECT cluster, uid, owner, groups FROM claims FINAL) AS c ON c.cluster = p.cluster AND c.uid = p.claim_uid
WHERE true{{filter "p.cluster" "p.namespace" "c.owner" "c.groups" "p.storage_class"}}
ORDER BY p.most_shared DESC, p.backend, p.store, p.node, p.began, cluster, persistentvolume, p.uid, p.namespace
LIMIT {limit:UInt64}
