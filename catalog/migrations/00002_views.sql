-- +goose NO TRANSACTION
-- +goose Up
-- Views for people's SQL and for Grafana. Each reads its tables with FINAL, so its readers need no FINAL.
-- They are views and not tables: they store nothing, and ClickHouse applies a reader's conditions to the tables below.
-- Each names its columns with types and comments: docs/schema.md has them, and neither depends on the version of ClickHouse.
-- join_use_nulls is set in each, because the types of a view's columns must not depend on its reader's settings.

-- All mounts with the names of what they refer to. A condition on namespace, claim, pod_created_at or pod_uid reads little. One on
-- started_at reads all quarters: they are those of pod_created_at, and FINAL reads each row with all rows that it could replace, so that
-- an index on started_at would not help. Claims and volumes are joined before pods and containers, because a condition on volume_uid or
-- storage_class then leaves few mounts for the larger tables.
CREATE VIEW IF NOT EXISTS mount_history
(
    cluster            LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace          LowCardinality(String) COMMENT 'namespace of the pod and of its claim',
    pod                String COMMENT 'name of the pod',
    container          LowCardinality(String) COMMENT 'name of the container in the pod',
    kind               LowCardinality(String) COMMENT 'kind of the container: init, sidecar, main or ephemeral',
    workload           String COMMENT 'topmost controller of the pod as KIND/NAME, such as Deployment/api; Pod/NAME for a pod without one',
    owner              String COMMENT 'owner of the pod, else of its claim; empty if neither has one',
    groups             Array(String) COMMENT 'groups of the pod, else of its claim; empty if neither has any',
    node               LowCardinality(String) COMMENT 'the node that the pod runs or ran on',
    volume             LowCardinality(String) COMMENT 'name of the volume in the pod; the name of the PersistentVolume is in persistentvolume',
    mount_path         LowCardinality(String) COMMENT 'path in the container; for a block device, the device path',
    sub_path           String COMMENT 'the part of the volume that is mounted; empty for the whole volume',
    read_only          Bool COMMENT 'true if mounted read-only',
    claim              String COMMENT 'name of the PersistentVolumeClaim; empty if the pod names a backing store itself (emptyDir, hostPath, nfs, ...)',
    persistentvolume   String COMMENT 'name of the PersistentVolume; empty if there is none',
    storage_class      String COMMENT 'StorageClass of the volume, else of the claim; empty if there is none',
    source             LowCardinality(String) COMMENT 'kind of the backing store: nfs, csi, emptyDir, ...; empty until known',
    backend            String COMMENT 'the backing store: driver, then server and path, or handle; empty if the source names none',
    started_at         DateTime64(6, 'UTC') COMMENT 'the latest time at which the container can have started first',
    started_not_before DateTime64(6, 'UTC') COMMENT 'the earliest such time; equal to started_at when that is exact',
    ended_at           Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which the use can have ended; NULL while it lasts',
    ended_not_before   Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest such time; equal to ended_at when that is exact; NULL while the use lasts',
    end_reason         LowCardinality(String) COMMENT 'Completed, Error, OOMKilled, Evicted, Deleted, ...; empty while the use lasts',
    pod_created_at     DateTime64(6, 'UTC') COMMENT 'creation of the pod; a condition on it reads the quarters that match',
    pod_uid            String COMMENT 'UID of the pod: uid in pods',
    claim_uid          String COMMENT 'UID of the claim: uid in claims and current_claims; empty if there is none',
    volume_uid         String COMMENT 'UID of the PersistentVolume: uid in volumes and current_volumes; empty if there is none'
)
AS
SELECT
    m.cluster AS cluster,
    m.namespace AS namespace,
    p.name AS pod,
    m.container AS container,
    c.kind AS kind,
    concat(m.workload_kind, '/', m.workload_name) AS workload,
    if(m.owner != '', m.owner, k.owner) AS owner,
    if(notEmpty(m.groups), m.groups, k.groups) AS groups,
    m.node AS node,
    m.volume AS volume,
    m.mount_path AS mount_path,
    m.sub_path AS sub_path,
    m.read_only AS read_only,
    m.claim_name AS claim,
    v.name AS persistentvolume,
    if(v.storage_class != '', v.storage_class, k.storage_class) AS storage_class,
    m.source_kind AS source,
    trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend,
    m.started_at AS started_at,
    m.started_not_before AS started_not_before,
    m.ended_at AS ended_at,
    m.ended_not_before AS ended_not_before,
    m.end_reason AS end_reason,
    m.pod_created_at AS pod_created_at,
    m.pod_uid AS pod_uid,
    m.claim_uid AS claim_uid,
    -- A mount that was written before its volume was known has the volume of its claim.
    if(m.volume_uid != '', m.volume_uid, k.volume_uid) AS volume_uid
FROM mounts AS m FINAL
LEFT JOIN claims AS k FINAL ON k.cluster = m.cluster AND k.namespace = m.namespace AND k.uid = m.claim_uid
LEFT JOIN volumes AS v FINAL ON v.cluster = m.cluster AND v.uid = if(m.volume_uid != '', m.volume_uid, k.volume_uid)
LEFT JOIN pods AS p FINAL ON p.cluster = m.cluster AND p.namespace = m.namespace AND p.created_at = m.pod_created_at AND p.uid = m.pod_uid
LEFT JOIN containers AS c FINAL
    ON c.cluster = m.cluster AND c.namespace = m.namespace AND c.pod_created_at = m.pod_created_at AND c.pod_uid = m.pod_uid AND c.name = m.container
LEFT JOIN volume_sources AS s FINAL ON s.cluster = m.cluster AND s.id = m.source_id
SETTINGS join_use_nulls = 0, do_not_merge_across_partitions_select_final = 1
COMMENT 'Who mounted what, and when? All mounts, with the names of pod, workload, owner, claim, volume and backend.';

-- The mounts that last. mount_history with a condition would read all of the history: FINAL reads each row with whatever it
-- could replace. So the keys of the rows without an end are read first, in one column that has an index; then the rows of these keys.
CREATE VIEW IF NOT EXISTS current_mounts
(
    cluster            LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace          LowCardinality(String) COMMENT 'namespace of the pod and of its claim',
    pod                String COMMENT 'name of the pod',
    container          LowCardinality(String) COMMENT 'name of the container in the pod',
    kind               LowCardinality(String) COMMENT 'kind of the container: init, sidecar, main or ephemeral',
    workload           String COMMENT 'topmost controller of the pod as KIND/NAME, such as Deployment/api; Pod/NAME for a pod without one',
    owner              String COMMENT 'owner of the pod, else of its claim; empty if neither has one',
    groups             Array(String) COMMENT 'groups of the pod, else of its claim; empty if neither has any',
    node               LowCardinality(String) COMMENT 'the node that the pod runs or ran on',
    volume             LowCardinality(String) COMMENT 'name of the volume in the pod; the name of the PersistentVolume is in persistentvolume',
    mount_path         LowCardinality(String) COMMENT 'path in the container; for a block device, the device path',
    sub_path           String COMMENT 'the part of the volume that is mounted; empty for the whole volume',
    read_only          Bool COMMENT 'true if mounted read-only',
    claim              String COMMENT 'name of the PersistentVolumeClaim; empty if the pod names a backing store itself (emptyDir, hostPath, nfs, ...)',
    persistentvolume   String COMMENT 'name of the PersistentVolume; empty if there is none',
    storage_class      String COMMENT 'StorageClass of the volume, else of the claim; empty if there is none',
    source             LowCardinality(String) COMMENT 'kind of the backing store: nfs, csi, emptyDir, ...; empty until known',
    backend            String COMMENT 'the backing store: driver, then server and path, or handle; empty if the source names none',
    started_at         DateTime64(6, 'UTC') COMMENT 'the latest time at which the container can have started first',
    started_not_before DateTime64(6, 'UTC') COMMENT 'the earliest such time; equal to started_at when that is exact',
    pod_created_at     DateTime64(6, 'UTC') COMMENT 'creation of the pod; a condition on it reads the quarters that match',
    pod_uid            String COMMENT 'UID of the pod: uid in pods',
    claim_uid          String COMMENT 'UID of the claim: uid in claims and current_claims; empty if there is none',
    volume_uid         String COMMENT 'UID of the PersistentVolume: uid in volumes and current_volumes; empty if there is none'
)
AS
WITH without_end AS (SELECT cluster, namespace, claim_name, pod_created_at FROM mounts WHERE ended_at IS NULL)
SELECT
    m.cluster AS cluster,
    m.namespace AS namespace,
    p.name AS pod,
    m.container AS container,
    c.kind AS kind,
    concat(m.workload_kind, '/', m.workload_name) AS workload,
    if(m.owner != '', m.owner, k.owner) AS owner,
    if(notEmpty(m.groups), m.groups, k.groups) AS groups,
    m.node AS node,
    m.volume AS volume,
    m.mount_path AS mount_path,
    m.sub_path AS sub_path,
    m.read_only AS read_only,
    m.claim_name AS claim,
    v.name AS persistentvolume,
    if(v.storage_class != '', v.storage_class, k.storage_class) AS storage_class,
    m.source_kind AS source,
    trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend,
    m.started_at AS started_at,
    m.started_not_before AS started_not_before,
    m.pod_created_at AS pod_created_at,
    m.pod_uid AS pod_uid,
    m.claim_uid AS claim_uid,
    if(m.volume_uid != '', m.volume_uid, k.volume_uid) AS volume_uid
FROM
(
    SELECT *, started_not_before FROM mounts FINAL
    WHERE ended_at IS NULL AND (cluster, namespace, claim_name, pod_created_at) IN (SELECT cluster, namespace, claim_name, pod_created_at FROM without_end)
) AS m
LEFT JOIN
(
    SELECT * FROM pods FINAL WHERE (cluster, namespace, created_at) IN (SELECT cluster, namespace, pod_created_at FROM without_end)
) AS p ON p.cluster = m.cluster AND p.namespace = m.namespace AND p.created_at = m.pod_created_at AND p.uid = m.pod_uid
LEFT JOIN
(
    SELECT * FROM containers FINAL WHERE (cluster, namespace, pod_created_at) IN (SELECT cluster, namespace, pod_created_at FROM without_end)
) AS c ON c.cluster = m.cluster AND c.namespace = m.namespace AND c.pod_created_at = m.pod_created_at AND c.pod_uid = m.pod_uid AND c.name = m.container
LEFT JOIN claims AS k FINAL ON k.cluster = m.cluster AND k.namespace = m.namespace AND k.uid = m.claim_uid
LEFT JOIN volumes AS v FINAL ON v.cluster = m.cluster AND v.uid = if(m.volume_uid != '', m.volume_uid, k.volume_uid)
LEFT JOIN volume_sources AS s FINAL ON s.cluster = m.cluster AND s.id = m.source_id
SETTINGS join_use_nulls = 0, do_not_merge_across_partitions_select_final = 1
COMMENT 'Who mounts what now? The mounts that last, with the names of pod, workload, owner, claim, volume and backend.';

CREATE VIEW IF NOT EXISTS current_claims
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace        LowCardinality(String) COMMENT 'namespace of the claim',
    claim            String COMMENT 'name of the PersistentVolumeClaim',
    phase            LowCardinality(String) COMMENT 'Pending, Bound or Lost',
    persistentvolume String COMMENT 'name of its PersistentVolume; empty until it is bound',
    storage_class    LowCardinality(String) COMMENT 'spec.storageClassName; empty if it names none',
    owner            LowCardinality(String) COMMENT 'its owner; empty if unknown',
    groups           Array(LowCardinality(String)) COMMENT 'the groups of that owner',
    workload         String COMMENT 'the StatefulSet that made it by a template, as KIND/NAME; empty for other claims',
    requested_bytes  Int64 COMMENT 'requested size in bytes',
    capacity_bytes   Int64 COMMENT 'actual size in bytes; 0 until it is bound',
    used_bytes       Nullable(Int64) COMMENT 'used bytes of the file system, by the last kubelet that measured it; NULL if none has',
    in_use           Bool COMMENT 'true while a container uses its volume',
    access_modes     Array(LowCardinality(String)) COMMENT 'ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod',
    volume_mode      LowCardinality(String) COMMENT 'Filesystem or Block',
    ephemeral        Bool COMMENT 'true if it was made for a generic ephemeral volume of a pod',
    unused_since     Nullable(DateTime64(6, 'UTC')) COMMENT 'since when no pod refers to it, by its condition Unused; NULL while one does, or if the API server does not say',
    source           LowCardinality(String) COMMENT 'kind of the backing store: nfs, csi, local, ...; empty until it is bound',
    backend          String COMMENT 'the backing store: driver, then server and path, or handle; empty until it is bound',
    labels           Map(LowCardinality(String), String) COMMENT 'metadata.labels, as in labels[''app'']',
    created_at       Nullable(DateTime64(6, 'UTC')) COMMENT 'creation, by the API; NULL if unknown',
    bound_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was bound; NULL before, or if unknown',
    uid              String COMMENT 'UID of the claim: claim_uid elsewhere',
    volume_uid       String COMMENT 'UID of its volume: uid in volumes and current_volumes; empty until that is known'
)
AS
SELECT
    k.cluster AS cluster,
    k.namespace AS namespace,
    k.name AS claim,
    k.phase AS phase,
    if(k.phase = 'Pending', '', k.volume_name) AS persistentvolume,
    k.storage_class AS storage_class,
    k.owner AS owner,
    k.groups AS groups,
    trim(BOTH '/' FROM concat(k.workload_kind, '/', k.workload_name)) AS workload,
    k.requested_bytes AS requested_bytes,
    k.capacity_bytes AS capacity_bytes,
    l.used_bytes AS used_bytes,
    u.in_use AS in_use,
    k.access_modes AS access_modes,
    k.volume_mode AS volume_mode,
    k.ephemeral AS ephemeral,
    k.unused_since AS unused_since,
    v.source_kind AS source,
    trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend,
    k.labels AS labels,
    k.created_at AS created_at,
    k.bound_at AS bound_at,
    k.uid AS uid,
    k.volume_uid AS volume_uid
FROM (SELECT * FROM claims FINAL WHERE deleted_at IS NULL) AS k
LEFT JOIN volumes AS v FINAL ON v.cluster = k.cluster AND v.uid = k.volume_uid
LEFT JOIN volume_sources AS s FINAL ON s.cluster = v.cluster AND s.id = v.source_id
LEFT JOIN volume_uses AS u FINAL ON u.cluster = k.cluster AND u.volume_uid = k.volume_uid
LEFT JOIN (SELECT cluster, volume_uid, toNullable(used_bytes) AS used_bytes FROM last_usage FINAL) AS l ON l.cluster = k.cluster AND l.volume_uid = k.volume_uid
SETTINGS join_use_nulls = 0
COMMENT 'Which claims exist, how large are they, and how full? With their volume and backend.';

CREATE VIEW IF NOT EXISTS current_volumes
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    persistentvolume String COMMENT 'name of the PersistentVolume',
    phase            LowCardinality(String) COMMENT 'Pending, Available, Bound, Released or Failed',
    namespace        LowCardinality(String) COMMENT 'namespace of the claim that it is bound to, reserved for or was released from; empty if none',
    claim            String COMMENT 'name of that claim; empty if none',
    storage_class    LowCardinality(String) COMMENT 'spec.storageClassName; empty if it names none',
    source           LowCardinality(String) COMMENT 'kind of the backing store: nfs, csi, local, ...',
    backend          String COMMENT 'the backing store: driver, then server and path, or handle; empty if the source names none',
    volume_handle    String COMMENT 'the CSI driver''s name for it; empty without one',
    capacity_bytes   Int64 COMMENT 'size in bytes',
    used_bytes       Nullable(Int64) COMMENT 'used bytes of the file system, by the last kubelet that measured it; NULL if none has',
    in_use           Bool COMMENT 'true while a container uses it',
    last_used_at     Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which its last use can have ended; NULL while it is in use, or if no use is known',
    last_namespace   LowCardinality(String) COMMENT 'namespace of the pod that used it last; empty while it is in use, or if no use is known',
    last_pod         String COMMENT 'name of that pod',
    last_workload    String COMMENT 'topmost controller of that pod as KIND/NAME; empty if it has none',
    access_modes     Array(LowCardinality(String)) COMMENT 'ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod',
    volume_mode      LowCardinality(String) COMMENT 'Filesystem or Block',
    reclaim_policy   LowCardinality(String) COMMENT 'Delete, Retain or Recycle',
    labels           Map(LowCardinality(String), String) COMMENT 'metadata.labels, as in labels[''app'']',
    created_at       Nullable(DateTime64(6, 'UTC')) COMMENT 'creation, by the API; NULL if unknown',
    phase_changed_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it entered its phase; NULL if the API server does not say (before Kubernetes 1.28)',
    uid              String COMMENT 'UID of the PersistentVolume: volume_uid elsewhere',
    claim_uid        String COMMENT 'UID of the claim that it is bound to or was released from; empty if none'
)
AS
SELECT
    v.cluster AS cluster,
    v.name AS persistentvolume,
    v.phase AS phase,
    v.claim_namespace AS namespace,
    v.claim_name AS claim,
    v.storage_class AS storage_class,
    v.source_kind AS source,
    trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend,
    v.volume_handle AS volume_handle,
    v.capacity_bytes AS capacity_bytes,
    l.used_bytes AS used_bytes,
    u.in_use AS in_use,
    u.last_ended_at AS last_used_at,
    u.last_namespace AS last_namespace,
    u.last_pod AS last_pod,
    trim(BOTH '/' FROM concat(u.last_workload_kind, '/', u.last_workload_name)) AS last_workload,
    v.access_modes AS access_modes,
    v.volume_mode AS volume_mode,
    v.reclaim_policy AS reclaim_policy,
    v.labels AS labels,
    v.created_at AS created_at,
    v.phase_changed_at AS phase_changed_at,
    v.uid AS uid,
    v.claim_uid AS claim_uid
FROM (SELECT * FROM volumes FINAL WHERE deleted_at IS NULL) AS v
LEFT JOIN volume_sources AS s FINAL ON s.cluster = v.cluster AND s.id = v.source_id
LEFT JOIN volume_uses AS u FINAL ON u.cluster = v.cluster AND u.volume_uid = v.uid
LEFT JOIN (SELECT cluster, volume_uid, toNullable(used_bytes) AS used_bytes FROM last_usage FINAL) AS l ON l.cluster = v.cluster AND l.volume_uid = v.uid
SETTINGS join_use_nulls = 0
COMMENT 'Which volumes exist, and who used them last? With their claim, backend and last use.';

-- The report idle, for now. catalog/reports/idle.sql explains it; a test compares the two.
CREATE VIEW IF NOT EXISTS idle_volumes
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    volume           String COMMENT 'name of the PersistentVolume: persistentvolume in the other views',
    state            String COMMENT 'idle (bound to a claim), released (its claim is gone), or never_mounted (bound to a claim, and no use is known)',
    idle_since       Nullable(DateTime64(6, 'UTC')) COMMENT 'since when it is unused: the latest time at which its last known use can have ended, else when it was bound, else created; NULL if none is known',
    idle_seconds     Int64 COMMENT 'seconds since idle_since: the longest that it can have been unused; 0 if that is unknown',
    observed_seconds Int64 COMMENT 'the part of idle_seconds that a tracker watched, or that the claim''s condition Unused vouches for',
    namespace        LowCardinality(String) COMMENT 'namespace of the claim that it is bound to or was released from',
    claim            String COMMENT 'name of that claim',
    storage_class    LowCardinality(String) COMMENT 'spec.storageClassName; empty if it names none',
    capacity_bytes   Int64 COMMENT 'size in bytes',
    used_bytes       Nullable(Int64) COMMENT 'used bytes of the file system, by the last kubelet that measured it; NULL if none has',
    reclaim_policy   LowCardinality(String) COMMENT 'Delete, Retain or Recycle',
    last_used_at     Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which its last use that a tracker observed can have ended; NULL if it observed none',
    last_namespace   LowCardinality(String) COMMENT 'namespace of the pod that used it last; empty if no use is known',
    last_pod         String COMMENT 'name of that pod',
    last_workload    String COMMENT 'topmost controller of that pod as KIND/NAME; empty if it has none',
    keep_until       Nullable(DateTime64(6, 'UTC')) COMMENT 'until when an annotation of the volume or its claim keeps it, though nobody uses it; NULL without one that can be read',
    keep_reason      String COMMENT 'why, as that annotation says; or, after "unreadable:", the text of an annotation that cannot be read'
)
AS
WITH watched AS
(
    SELECT
        cluster AS watched_cluster,
        started_micros,
        ended_micros,
        sum(ended_micros - started_micros) OVER (PARTITION BY cluster ORDER BY started_micros ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            - (ended_micros - started_micros) AS before_micros
    FROM
    (
        SELECT cluster, toUnixTimestamp64Micro(min(began)) AS started_micros, toUnixTimestamp64Micro(max(ended)) AS ended_micros
        FROM
        (
            SELECT cluster, began, ended,
                sum(toUInt64(began > reached)) OVER (PARTITION BY cluster ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS span
            FROM
            (
                SELECT cluster, began, ended,
                    max(ended) OVER (PARTITION BY cluster ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
                FROM
                (
                    SELECT cluster, started_at AS began, greatest(started_at, coalesce(ended_at, seen_at)) AS ended
                    FROM coverage FINAL
                    WHERE kind = 'Pod'
                )
            )
        )
        GROUP BY cluster, span
    )
),
idle AS
(
    SELECT
        s.cluster AS cluster,
        s.name AS volume,
        s.status AS state,
        s.idle_since AS idle_since,
        s.claim_namespace AS namespace,
        s.claim_name AS claim,
        s.unused_since AS unused_since,
        s.storage_class AS storage_class,
        s.capacity_bytes AS capacity_bytes,
        l.used_bytes AS used_bytes,
        s.reclaim_policy AS reclaim_policy,
        u.last_ended_at AS last_used_at,
        u.last_namespace AS last_namespace,
        u.last_pod AS last_pod,
        trim(BOTH '/' FROM concat(u.last_workload_kind, '/', u.last_workload_name)) AS last_workload,
        s.keep_until AS keep_until,
        concat(s.keep_reason, if(s.keep_unreadable = '', '', concat(if(s.keep_reason = '', '', '; '), 'unreadable: ', s.keep_unreadable))) AS keep_reason
    FROM (SELECT * FROM volume_states FINAL WHERE status IN ('idle', 'never_mounted', 'released')) AS s
    LEFT JOIN (SELECT * FROM volume_uses FINAL) AS u ON u.cluster = s.cluster AND u.volume_uid = s.volume_uid
    LEFT JOIN (SELECT cluster, volume_uid, toNullable(used_bytes) AS used_bytes FROM last_usage FINAL) AS l
        ON l.cluster = s.cluster AND l.volume_uid = s.volume_uid
),
measured AS
(
    SELECT
        i.*,
        if(w.started_micros = 0, 0, w.before_micros + least(i.vouched_micros, w.ended_micros) - w.started_micros) AS watched_until_vouched
    FROM
    (
        SELECT
            i.*,
            if(w.started_micros = 0, 0, w.before_micros + least(i.since_micros, w.ended_micros) - w.started_micros) AS watched_until_idle
        FROM
        (
            SELECT
                i.*,
                w.total_micros AS total_micros,
                toUnixTimestamp64Micro(now64(6, 'UTC')) AS now_micros,
                least(w.last_micros, now_micros) AS end_micros,
                ifNull(toUnixTimestamp64Micro(i.idle_since), 0) AS since_micros,
                greatest(since_micros, ifNull(toUnixTimestamp64Micro(i.unused_since), end_micros)) AS vouched_micros
            FROM idle AS i
            LEFT JOIN
            (
                SELECT watched_cluster, max(ended_micros) AS last_micros, sum(ended_micros - started_micros) AS total_micros FROM watched GROUP BY watched_cluster
            ) AS w ON w.watched_cluster = i.cluster
        ) AS i
        ASOF LEFT JOIN watched AS w ON w.watched_cluster = i.cluster AND i.since_micros >= w.started_micros
    ) AS i
    ASOF LEFT JOIN watched AS w ON w.watched_cluster = i.cluster AND i.vouched_micros >= w.started_micros
)
SELECT
    i.cluster AS cluster,
    i.volume AS volume,
    i.state AS state,
    i.idle_since AS idle_since,
    ifNull(greatest(0, intDiv(i.now_micros - toUnixTimestamp64Micro(i.idle_since), 1000000)), 0) AS idle_seconds,
    least(idle_seconds, toInt64(multiIf(
        i.since_micros = 0 OR i.since_micros >= i.end_micros, 0,
        i.vouched_micros >= i.end_micros, intDiv(i.total_micros - i.watched_until_idle, 1000000),
        intDiv(i.watched_until_vouched - i.watched_until_idle + i.end_micros - i.vouched_micros, 1000000)))) AS observed_seconds,
    i.namespace AS namespace,
    i.claim AS claim,
    i.storage_class AS storage_class,
    i.capacity_bytes AS capacity_bytes,
    i.used_bytes AS used_bytes,
    i.reclaim_policy AS reclaim_policy,
    i.last_used_at AS last_used_at,
    i.last_namespace AS last_namespace,
    i.last_pod AS last_pod,
    i.last_workload AS last_workload,
    i.keep_until AS keep_until,
    i.keep_reason AS keep_reason
FROM measured AS i
SETTINGS join_use_nulls = 0
COMMENT 'Which volumes does nobody use, since when, and who used them last? As the report idle has them now.';

-- The space at the end of each day, in UTC; today until now. It is summed up from what changed it: a claim's creation, requests for
-- another size and deletion; a volume's bindings, resizes, phases and deletion. So it reads claims and volumes once,
-- and not once for each day. A size before a resize is the present one without the resizes since, which are in changes.
-- Claims count from creation to deletion. Volumes count from the first binding to the deletion, but not while they are Available again or
-- Failed: they take space after a release, too, in the namespace of the claim that was bound last by then. Bytes are Int128: two claims of 8Ei are more than an Int64 holds.
CREATE VIEW IF NOT EXISTS space_daily
(
    day             Date COMMENT 'the day, in UTC; of today, the values of now',
    cluster         LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace       String COMMENT 'namespace of the claims; of a volume, that of its last claim by then',
    storage_class   LowCardinality(String) COMMENT 'the StorageClass; empty if there is none',
    claims          Int64 COMMENT 'how many claims existed at the end of the day',
    bound_volumes   Int64 COMMENT 'how many volumes existed that had been bound; a released one counts until it is deleted, Available or Failed',
    requested_bytes Int128 COMMENT 'sum of what these claims asked for, in bytes',
    capacity_bytes  Int128 COMMENT 'sum of the sizes of these volumes, in bytes'
)
AS
WITH resizes AS
(
    SELECT
        cluster, kind, uid, at,
        -- Quantities as the tracker writes them; of others, nothing is known.
        arrayMap(
            text -> if(match(text, '^[0-9]{1,19}([KMGTPE]i)?$'),
                toInt128(extract(text, '^[0-9]+')) * transform(extract(text, '[A-Z]i$'), ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'],
                    [1, 1024, 1048576, 1073741824, 1099511627776, 1125899906842624, 1152921504606846976], 0), toInt128(-1)),
            splitByString(' → ', details)) AS sizes,
        if(length(sizes) = 2 AND sizes[1] >= 0 AND sizes[2] >= 0, sizes[2] - sizes[1], toInt128(0)) AS bytes
    FROM
    (
        -- Two trackers can have dated the same change differently.
        SELECT cluster, kind, uid, details, resource_version, min(at) AS at
        FROM changes FINAL
        WHERE (kind = 'PersistentVolumeClaim' AND action = 'resize_requested') OR (kind = 'PersistentVolume' AND action = 'resized')
        GROUP BY cluster, kind, uid, details, resource_version
    )
),
claim_steps AS
(
    SELECT
        k.cluster AS cluster, k.namespace AS namespace, k.storage_class AS storage_class,
        arrayJoin(arrayConcat(
            [(k.created_at, toInt64(1), toInt128(k.requested_bytes) - arraySum(r.resizes.2))],
            arrayMap(resize -> (toNullable(resize.1), toInt64(0), resize.2), r.resizes),
            if(k.deleted_at IS NULL, [], [(k.deleted_at, toInt64(-1), -toInt128(k.requested_bytes))]))) AS step
    FROM (SELECT * FROM claims FINAL WHERE created_at IS NOT NULL) AS k
    LEFT JOIN
    (
        SELECT cluster, uid, groupArray((at, bytes)) AS resizes FROM resizes WHERE kind = 'PersistentVolumeClaim' GROUP BY cluster, uid
    ) AS r ON r.cluster = k.cluster AND r.uid = k.uid
),
-- When a volume began or ceased to take space, by its phases.
phases AS
(
    SELECT cluster, uid, groupArray((at, action = 'released' OR endsWith(details, '→ Bound') OR endsWith(details, '→ Released'))) AS phases
    FROM changes FINAL
    WHERE kind = 'PersistentVolume' AND action IN ('phase', 'released')
    GROUP BY cluster, uid
),
-- The first moment and the namespace of each binding. One without a known beginning counts from the creation of its claim.
bound AS
(
    SELECT b.cluster AS cluster, b.volume_uid AS volume_uid, groupArray((coalesce(b.bound_at, k.created_at), toString(b.namespace))) AS stays, max(b.released_at) AS released_at
    FROM (SELECT cluster, namespace, claim_key, volume_uid, bound_at, released_at FROM bindings FINAL) AS b
    LEFT JOIN (SELECT uid_key, created_at FROM claims FINAL PREWHERE uid_key IN (SELECT claim_key FROM bindings WHERE bound_at IS NULL)) AS k ON k.uid_key = b.claim_key
    GROUP BY cluster, volume_uid
),
-- A volume stays with a claim until its next binding, its deletion, or until it is Available again or Failed.
volume_stays AS
(
    SELECT
        cluster, storage_class, capacity, stay.2 AS namespace, stay.1 AS began, resizes,
        -- Kubernetes dates phases to the second. Of those of the same second, the one that ends a stay comes last.
        arraySort(p -> (p.1, NOT p.2), arrayFilter(p -> p.1 > began AND (stay.3 IS NULL OR p.1 < assumeNotNull(stay.3)), phases)) AS changed,
        if(notEmpty(changed) AND NOT changed[-1].2, changed[-1].1, stay.3) AS end
    FROM
    (
        SELECT
            v.cluster AS cluster, v.storage_class AS storage_class, toInt128(v.capacity_bytes) AS capacity, r.resizes AS resizes,
            -- Before Kubernetes 1.28 a volume does not say since when it has its phase: if it takes no space, since its release.
            coalesce(v.phase_changed_at, if(v.phase IN ('Bound', 'Released'), NULL, b.released_at)) AS phase_at,
            if(phase_at IS NULL, p.phases, arrayPushBack(p.phases, (assumeNotNull(phase_at), v.phase IN ('Bound', 'Released')))) AS phases,
            -- A volume that is not among the bindings has its claim from the beginning, unless it waits to be bound to it.
            arraySort(arrayFilter(stay -> toUnixTimestamp64Micro(stay.1) > 0, arrayMap(
                stay -> (greatest(ifNull(stay.1, fromUnixTimestamp64Micro(0, 'UTC')), ifNull(v.created_at, fromUnixTimestamp64Micro(0, 'UTC'))), stay.2),
                if(notEmpty(b.stays), b.stays, if(v.claim_uid = '' OR v.phase NOT IN ('Bound', 'Released', 'Failed'), [], [(v.created_at, toString(v.claim_namespace))]))))) AS stays,
            arrayJoin(arrayMap(
                (stay, next) -> (stay.1, stay.2, if(next = 0, v.deleted_at, toNullable(stays[next].1))),
                stays, arrayMap(n -> if(n = length(stays), 0, n + 1), arrayEnumerate(stays)))) AS stay
        FROM (SELECT * FROM volumes FINAL) AS v
        LEFT JOIN bound AS b ON b.cluster = v.cluster AND b.volume_uid = v.uid
        LEFT JOIN phases AS p ON p.cluster = v.cluster AND p.uid = v.uid
        LEFT JOIN
        (
            SELECT cluster, uid, groupArray((at, bytes)) AS resizes FROM resizes WHERE kind = 'PersistentVolume' GROUP BY cluster, uid
        ) AS r ON r.cluster = v.cluster AND r.uid = v.uid
    )
),
volume_steps AS
(
    SELECT
        cluster, storage_class, namespace,
        arrayJoin(arrayConcat(
            -- It comes to a namespace with the size that it has then,
            [(toNullable(began), toInt64(1), capacity - arraySum(arrayMap(resize -> if(resize.1 > began, resize.2, toInt128(0)), resizes)))],
            -- is resized there,
            arrayMap(resize -> (toNullable(resize.1), toInt64(0), resize.2), arrayFilter(resize -> resize.1 > began AND (end IS NULL OR resize.1 <= assumeNotNull(end)), resizes)),
            -- and leaves it.
            if(end IS NULL, [], [(end, toInt64(-1), -(capacity - arraySum(arrayMap(resize -> if(resize.1 > assumeNotNull(end), resize.2, toInt128(0)), resizes))))]))) AS step
    FROM volume_stays
),
steps AS
(
    SELECT
        cluster, namespace, storage_class, least(toDate(at, 'UTC'), toDate(now64(6, 'UTC'))) AS day,
        sum(claims) AS claims, sum(volumes) AS volumes, sum(requested) AS requested, sum(capacity) AS capacity
    FROM
    (
        SELECT cluster, toString(namespace) AS namespace, toString(storage_class) AS storage_class, assumeNotNull(step.1) AS at,
            step.2 AS claims, toInt64(0) AS volumes, step.3 AS requested, toInt128(0) AS capacity
        FROM claim_steps
        UNION ALL
        SELECT cluster, namespace, toString(storage_class), assumeNotNull(step.1), toInt64(0), step.2, toInt128(0), step.3
        FROM volume_steps
    )
    GROUP BY cluster, namespace, storage_class, day
)
SELECT
    first_day + arrayJoin(range(toUInt32(next_day - first_day))) AS day,
    cluster,
    namespace,
    storage_class,
    claims,
    volumes AS bound_volumes,
    requested_bytes,
    capacity_bytes
FROM
(
    SELECT
        cluster, namespace, storage_class, day AS first_day,
        leadInFrame(day, 1, toDate(now64(6, 'UTC')) + 1) OVER following AS next_day,
        sum(steps.claims) OVER until_then AS claims,
        sum(steps.volumes) OVER until_then AS volumes,
        sum(steps.requested) OVER until_then AS requested_bytes,
        sum(steps.capacity) OVER until_then AS capacity_bytes
    FROM steps
    WINDOW
        until_then AS (PARTITION BY cluster, namespace, storage_class ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        following AS (PARTITION BY cluster, namespace, storage_class ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
WHERE claims != 0 OR volumes != 0
SETTINGS join_use_nulls = 0
COMMENT 'What did claims ask for, and what did volumes take, on each day? Bytes at the end of the day (UTC), by namespace and storage class.';

-- What happened, as Grafana's annotations take it: time and text.
CREATE VIEW IF NOT EXISTS timeline
(
    cluster   LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    time      DateTime64(6, 'UTC') COMMENT 'when it happened; the latest that it can have been, if nobody watched',
    kind      LowCardinality(String) COMMENT 'kind of the object: PersistentVolume, PersistentVolumeClaim, Pod, ...',
    namespace LowCardinality(String) COMMENT 'its namespace; empty if it has none',
    name      String COMMENT 'its name',
    action    LowCardinality(String) COMMENT 'created, bound, resized, phase, started, mounted, unmounted, released, deleted, ...',
    details   String COMMENT 'details, such as 10Gi → 20Gi',
    actor     LowCardinality(String) COMMENT 'the field manager that made the change; empty if the object does not name it',
    text      String COMMENT 'kind, namespace, name, action, details and actor in one line',
    uid       String COMMENT 'UID of the object'
)
AS
SELECT
    cluster,
    at AS time,
    kind,
    namespace,
    name,
    action,
    details,
    actor,
    concat(kind, '/', if(namespace = '', '', concat(namespace, '/')), name, ': ', action, if(details = '', '', concat(' ', details)), if(actor = '', '', concat(' by ', actor))) AS text,
    uid
FROM changes FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1
COMMENT 'What happened, and who did it? The changes of all objects, with a text for annotations in Grafana.';
