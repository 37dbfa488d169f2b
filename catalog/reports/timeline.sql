-- Included by other reports: a life as rows of what happened when, of the objects in volume_ids, claim_ids and pod_ids,
-- the bindings in binding_ids, and the mounts in mount_ids. Of a volume with stays, only what happened during one of them. A row
-- of a span has a duration, and an end once it has ended; a row of a moment has neither. The times at which nobody watched pods are rows, too.
-- The UIDs are arrays, because ClickHouse computes an array once, and a subquery each time that it is named.
-- The bar draws each row on the time from the first row to the last: █ for what lasts, • for a moment, ░ for unwatched.
its_volumes AS (SELECT id.1 AS cluster, id.2 AS uid, id.3 AS stays FROM (SELECT arrayJoin(volume_ids) AS id)),
its_claims AS (SELECT id.1 AS cluster, id.2 AS namespace, id.3 AS uid, id.4 AS name FROM (SELECT arrayJoin(claim_ids) AS id)),
its_bindings AS (SELECT id.1 AS cluster, id.2 AS claim_uid, id.3 AS volume_uid FROM (SELECT arrayJoin(binding_ids) AS id)),
its_pods AS (SELECT id.1 AS cluster, id.2 AS namespace, id.3 AS created_at, id.4 AS uid FROM (SELECT arrayJoin(pod_ids) AS id)),
its_mounts AS
(
    SELECT id.1 AS cluster, id.2 AS namespace, id.3 AS claim_name, id.4 AS pod_created_at, id.5 AS pod_uid FROM (SELECT arrayJoin(mount_ids) AS id)
),
watched AS
(
{{template "watched.sql"}}
),
events AS
(
    SELECT cluster, created_at AS started_at, deleted_at AS ended_at, deleted_not_before AS ended_not_before, 1 AS lasts,
        'exists' AS event, concat('PersistentVolume/', name) AS object,
        trim(concat(source_kind, ' ', if(volume_handle = '', '', concat(volume_handle, ' ')), storage_class)) AS details, '' AS actor
    FROM volumes FINAL
    WHERE (cluster, uid) IN (SELECT cluster, uid FROM its_volumes)
    UNION ALL
    SELECT cluster, created_at, deleted_at, deleted_not_before, 1,
        'exists', concat('PersistentVolumeClaim/', namespace, '/', name),
        trim(concat(storage_class, if(owner = '', '', concat(' of ', owner)))), ''
    FROM claims FINAL
    WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, uid FROM its_claims)
    UNION ALL
    SELECT b.cluster, b.bound_at, b.released_at, b.released_not_before, 1,
        'bound', concat('PersistentVolumeClaim/', b.namespace, '/', b.claim_name),
        concat('to volume ', v.name), ''
    FROM
    (
        SELECT * FROM bindings FINAL
        PREWHERE (cluster, namespace) IN (SELECT cluster, namespace FROM its_claims) AND claim_key IN (SELECT {{key "cluster, claim_uid"}} FROM its_bindings)
        WHERE (cluster, claim_uid, volume_uid) IN (SELECT cluster, claim_uid, volume_uid FROM its_bindings)
    ) AS b
    LEFT JOIN (SELECT cluster, uid, created_at FROM claims FINAL WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, uid FROM its_claims)) AS c
        ON c.cluster = b.cluster AND c.uid = b.claim_uid
    LEFT JOIN (SELECT cluster, uid, name, created_at FROM volumes FINAL WHERE (cluster, uid) IN (SELECT cluster, volume_uid FROM its_bindings)) AS v
        ON v.cluster = b.cluster AND v.uid = b.volume_uid
    WHERE {{template "both_existed.sql"}}
    UNION ALL
    SELECT a.cluster, coalesce(a.attached_at, a.created_at) AS began, a.detached_at, a.detached_at, 1,
        if(a.attached, 'attached', 'attaching'), concat('Node/', a.node), trim(concat('by ', a.attacher, ' ', a.error)), ''
    FROM
    (
        -- The index of volume_uid finds them without FINAL. With FINAL, ClickHouse also reads all that lies around what an index finds.
        SELECT * FROM attachments FINAL
        WHERE (cluster, uid) IN (SELECT cluster, uid FROM attachments WHERE volume_uid != '' AND volume_uid IN (SELECT uid FROM its_volumes))
    ) AS a
    INNER JOIN its_volumes AS v ON v.cluster = a.cluster AND v.uid = a.volume_uid
    WHERE empty(v.stays) OR arrayExists(s -> ifNull(began <= s.2, true) AND ifNull(a.detached_at >= s.1, true), v.stays)
    UNION ALL
    SELECT cluster, coalesce(started_at, created_at), coalesce(finished_at, deleted_at), if(finished_at IS NULL, deleted_not_before, finished_at), 1,
        if(started_at IS NULL, 'waited', 'ran'), concat('Pod/', namespace, '/', name),
        trim(concat(if(node = '', '', concat('on node ', node, ' ')), if(workload_name = '', '', concat('for ', workload_kind, '/', workload_name)))), ''
    FROM pods FINAL
    WHERE (cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, created_at, uid FROM its_pods)
    UNION ALL
    SELECT m.cluster, m.started_at, m.ended_at, m.ended_not_before, 1, 'mounted', concat('Pod/', m.namespace, '/', p.name),
        concat(if(m.claim_name = '', m.volume, m.claim_name), ' in ', m.container, ' at ', m.mount_path, if(m.read_only, ' read-only', ''),
            if(p.workload_name = '', '', concat(' for ', p.workload_kind, '/', p.workload_name)), if(m.end_reason = '', '', concat(': ', m.end_reason))), ''
    FROM
    (
        SELECT *, ended_not_before FROM mounts FINAL
        WHERE (cluster, namespace, claim_name, pod_created_at, pod_uid) IN (SELECT * FROM its_mounts)
    ) AS m
    LEFT JOIN
    (
        SELECT cluster, uid, name, workload_kind, workload_name
        FROM pods FINAL
        WHERE (cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM its_mounts)
    ) AS p ON p.cluster = m.cluster AND p.uid = m.pod_uid
    UNION ALL
    -- The changes that do not begin or end one of the rows above.
    SELECT c.cluster, c.changed_at, NULL, NULL, 0, c.action, concat(c.kind, '/', if(c.namespace = '', '', concat(c.namespace, '/')), c.name), c.details, c.actor
    FROM
    (
        -- Two trackers can have dated the same change differently, unless the object itself dates it.
        SELECT cluster, kind, namespace, uid, name, action, details, actor, min(at) AS changed_at
        FROM changes
        WHERE (cluster, kind, namespace, uid) IN
          (
              SELECT cluster, 'PersistentVolume', '', uid FROM its_volumes
              UNION ALL
              SELECT cluster, 'PersistentVolumeClaim', namespace, uid FROM its_claims
              UNION ALL
              SELECT cluster, 'Pod', namespace, uid FROM its_pods
          )
          AND action NOT IN ('created', 'deleted', 'bound', 'attached', 'detached', 'mounted', 'unmounted')
          AND NOT (kind = 'Pod' AND action IN ('started', 'finished'))
        GROUP BY cluster, kind, namespace, uid, name, action, details, actor, resource_version, if(resource_version = '', at, NULL)
    ) AS c
    LEFT JOIN its_volumes AS v ON v.cluster = c.cluster AND v.uid = c.uid
    WHERE c.kind != 'PersistentVolume' OR empty(v.stays) OR arrayExists(s -> c.changed_at >= s.1 AND c.changed_at <= s.2, v.stays)
),
-- The events, and the times that nobody watched between the first and the last event of a cluster. Events are named once,
-- because ClickHouse would compute them again.
timeline AS
(
    SELECT * EXCEPT (event_micros, first_event_micros, last_event_micros)
    FROM
    (
        SELECT
            *,
            if(event = 'unwatched', NULL, toUnixTimestamp64Micro(started_at)) AS event_micros,
            min(event_micros) OVER (PARTITION BY cluster) AS first_event_micros,
            max(if(lasts AND event_micros IS NOT NULL, toUnixTimestamp64Micro(coalesce(ended_at, {now:DateTime64(6, 'UTC')})), event_micros)) OVER (PARTITION BY cluster) AS last_event_micros
        FROM
        (
            SELECT * FROM events
            UNION ALL
            SELECT cluster, fromUnixTimestamp64Micro(from_micros, 'UTC'), fromUnixTimestamp64Micro(to_micros, 'UTC'),
                fromUnixTimestamp64Micro(to_micros, 'UTC'), 1, 'unwatched', '', 'what ended then has bounds; more may have happened', ''
            FROM
            (
                SELECT cluster, ended_micros AS from_micros,
                    leadInFrame(toNullable(started_micros)) OVER (PARTITION BY cluster ORDER BY started_micros ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS to_micros
                FROM watched
            )
            WHERE to_micros IS NOT NULL
        )
    )
    WHERE event != 'unwatched' OR ifNull(toUnixTimestamp64Micro(started_at) < last_event_micros AND toUnixTimestamp64Micro(ended_at) > first_event_micros, 0)
)
SELECT
    cluster,
    started_at,
    ended_at,
    if(ended_not_before = ended_at, NULL, ended_not_before) AS ended_not_before,
    if(lasts = 0 OR started_at IS NULL, NULL, greatest(0, dateDiff('second', assumeNotNull(started_at), coalesce(ended_at, {now:DateTime64(6, 'UTC')})))) AS lasted_seconds,
    event,
    object,
    details,
    actor,
    concat(repeat(' ', begin_cell), repeat(multiIf(lasts = 0, '•', event = 'unwatched', '░', '█'), end_cell - begin_cell), repeat(' ', 30 - end_cell)) AS life
FROM
(
    SELECT
        *,
        ifNull(toUnixTimestamp64Micro(started_at), first_micros) AS begin_micros,
        greatest(begin_micros, if(lasts, toUnixTimestamp64Micro(coalesce(ended_at, {now:DateTime64(6, 'UTC')})), begin_micros)) AS end_micros,
        greatest(1, max(end_micros) OVER (PARTITION BY cluster) - first_micros) AS all_micros,
        toUInt8(least(29, intDiv(30 * (begin_micros - first_micros), all_micros))) AS begin_cell,
        toUInt8(greatest(begin_cell + 1, intDiv(30 * (end_micros - first_micros), all_micros))) AS end_cell
    FROM
    (
        SELECT *, ifNull(min(toUnixTimestamp64Micro(started_at)) OVER (PARTITION BY cluster), 0) AS first_micros
        FROM timeline
        WHERE (started_at <= {until:DateTime64(6, 'UTC')} OR started_at IS NULL AND event = 'bound')
          AND if(lasts, ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')}, started_at >= {since:DateTime64(6, 'UTC')})
    )
)
ORDER BY started_at NULLS FIRST, cluster, lasts DESC, ended_at IS NULL DESC, ended_at DESC, event, object, details
LIMIT {limit:UInt64}
