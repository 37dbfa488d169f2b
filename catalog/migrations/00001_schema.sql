-- +goose NO TRANSACTION
-- +goose Up
-- The catalog: one row per object, or per fact about objects.
--
-- The cluster comes first in each key: several clusters can share a catalog.
-- A row that changes is written again with a higher version, and ClickHouse keeps the row
-- with the highest version of each key (ReplacingMergeTree). It does so in its own time,
-- so read with FINAL.
-- The tracker deletes a row from its journal once ClickHouse has acknowledged it. So a row
-- must be on disk by then (fsync_after_insert, fsync_part_directory). A batch whose
-- acknowledgement was lost is written again, and its rows replace themselves.
-- The tables of objects also have UIDs as numbers of 128 bits, together with the cluster (uid_key, claim_key, ...), made of
-- two hashes: the reports find and join rows by these. A key of a row's own UID never changes, as the UID does not.

-- A PersistentVolume. It has no namespace: by_claim finds the volume of a claim.
CREATE TABLE IF NOT EXISTS volumes
(
    cluster            LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid                String COMMENT 'UID of the PersistentVolume' CODEC(ZSTD(1)),
    name               String COMMENT 'metadata.name' CODEC(ZSTD(1)),
    storage_class      LowCardinality(String) COMMENT 'spec.storageClassName; empty if it names none',
    attributes_class   LowCardinality(String) COMMENT 'the VolumeAttributesClass that it has; empty if none',
    source_kind        LowCardinality(String) COMMENT 'kind of its backing store: nfs, iscsi, csi, local, ...',
    source_id          String COMMENT 'its backing store: id in volume_sources; empty until known' CODEC(ZSTD(1)),
    driver             LowCardinality(String) COMMENT 'CSI or flexVolume driver; else empty',
    volume_handle      String COMMENT 'the CSI driver''s name for it; empty without one' CODEC(ZSTD(1)),
    capacity_bytes     Int64 COMMENT 'size in bytes' CODEC(T64, ZSTD(1)),
    access_modes       Array(LowCardinality(String)) COMMENT 'ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod',
    volume_mode        LowCardinality(String) COMMENT 'Filesystem or Block',
    reclaim_policy     LowCardinality(String) COMMENT 'Delete, Retain or Recycle',
    node_affinity      LowCardinality(String) COMMENT 'the nodes that can reach it: spec.nodeAffinity.required.nodeSelectorTerms as JSON; empty if any node can',
    phase              LowCardinality(String) COMMENT 'Pending, Available, Bound, Released or Failed',
    phase_changed_at   Nullable(DateTime64(6, 'UTC')) COMMENT 'when it entered this phase; NULL if the API server does not say (before Kubernetes 1.28)' CODEC(Delta, ZSTD(1)),
    unseen_use_at      Nullable(DateTime64(6, 'UTC')) COMMENT 'end of the last use that nobody observed and that a former condition Unused of its claim showed; NULL if there was none' CODEC(Delta, ZSTD(1)),
    claim_uid          String COMMENT 'UID of the claim it is bound to or was released from; empty if none' CODEC(ZSTD(1)),
    claim_namespace    LowCardinality(String) COMMENT 'namespace of the claim in spec.claimRef, also of one that is gone or not bound yet; empty if none',
    claim_name         String COMMENT 'name of that claim; empty if none' CODEC(ZSTD(1)),
    labels             Map(LowCardinality(String), String) COMMENT 'metadata.labels' CODEC(ZSTD(1)),
    annotations        Map(LowCardinality(String), String) COMMENT 'those of metadata.annotations that the tracker keeps (--collector.keep-annotations)' CODEC(ZSTD(1)),
    created_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp; NULL if unknown' CODEC(Delta, ZSTD(1)),
    deleted_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which it can have been deleted; NULL while it exists' CODEC(Delta, ZSTD(1)),
    deleted_not_before Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest such time; equal to deleted_at when that is exact; NULL while it exists' CODEC(Delta, ZSTD(1)),
    version            UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL',
    uid_key            UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, uid)), 64), farmHash64(cluster, uid)) COMMENT 'cluster and uid as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    claim_key          UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, claim_uid)), 64), farmHash64(cluster, claim_uid)) COMMENT 'cluster and claim_uid as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    source_key         UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, source_id)), 64), farmHash64(cluster, source_id)) COMMENT 'cluster and source_id as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    INDEX by_name name TYPE bloom_filter GRANULARITY 1,
    INDEX by_uid uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_handle volume_handle TYPE bloom_filter GRANULARITY 1,
    INDEX by_claim claim_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, uid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per PersistentVolume, also of deleted ones. Read with FINAL.';

-- A PersistentVolumeClaim. Most questions name a namespace, which never changes for a UID,
-- so the namespace comes first in the key.
CREATE TABLE IF NOT EXISTS claims
(
    cluster                  LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid                      String COMMENT 'UID of the PersistentVolumeClaim' CODEC(ZSTD(1)),
    namespace                LowCardinality(String) COMMENT 'metadata.namespace',
    name                     String COMMENT 'metadata.name' CODEC(ZSTD(1)),
    storage_class            LowCardinality(String) COMMENT 'spec.storageClassName; empty if it names none',
    volume_uid               String COMMENT 'UID of the volume it is bound to; empty until that is known' CODEC(ZSTD(1)),
    volume_name              String COMMENT 'name of that volume, or of the one that a claim asks for which is not bound yet: spec.volumeName' CODEC(ZSTD(1)),
    requested_bytes          Int64 COMMENT 'requested size in bytes' CODEC(T64, ZSTD(1)),
    capacity_bytes           Int64 COMMENT 'actual size in bytes; 0 until bound' CODEC(T64, ZSTD(1)),
    access_modes             Array(LowCardinality(String)) COMMENT 'ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod',
    volume_mode              LowCardinality(String) COMMENT 'Filesystem or Block',
    phase                    LowCardinality(String) COMMENT 'Pending, Bound or Lost',
    owner                    LowCardinality(String) COMMENT 'its owner; empty if unknown',
    groups                   Array(LowCardinality(String)) COMMENT 'the groups of that owner',
    ephemeral                Bool COMMENT 'true if it was made for a generic ephemeral volume of a pod',
    pod_uid                  String COMMENT 'UID of that pod; else empty' CODEC(ZSTD(1)),
    workload_kind            LowCardinality(String) COMMENT 'kind of the workload it was made for: StatefulSet, ...; empty if none is known',
    workload_name            LowCardinality(String) COMMENT 'name of that workload',
    data_source_kind         LowCardinality(String) COMMENT 'kind of the object it was filled from: VolumeSnapshot, PersistentVolumeClaim, ...; empty if none',
    data_source_name         String COMMENT 'name of that object; empty if none' CODEC(ZSTD(1)),
    attributes_class         LowCardinality(String) COMMENT 'the VolumeAttributesClass that it asks for; empty if none',
    current_attributes_class LowCardinality(String) COMMENT 'the VolumeAttributesClass that its volume has; empty if none',
    conditions               Array(LowCardinality(String)) COMMENT 'conditions that are true (FileSystemResizePending, ModifyingVolume, ...), and the progress of a resize',
    selected_node            LowCardinality(String) COMMENT 'the node that the scheduler chose, if binding waits for the first pod; else empty',
    unused_since             Nullable(DateTime64(6, 'UTC')) COMMENT 'since when no pod refers to it, by the condition Unused; NULL while one does, or if the API server does not say' CODEC(Delta, ZSTD(1)),
    labels                   Map(LowCardinality(String), String) COMMENT 'metadata.labels' CODEC(ZSTD(1)),
    annotations              Map(LowCardinality(String), String) COMMENT 'those of metadata.annotations that the tracker keeps (--collector.keep-annotations)' CODEC(ZSTD(1)),
    created_at               Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp; NULL if unknown' CODEC(Delta, ZSTD(1)),
    bound_at                 Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was bound; NULL before, or if unknown' CODEC(Delta, ZSTD(1)),
    deleted_at               Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which it can have been deleted; NULL while it exists' CODEC(Delta, ZSTD(1)),
    deleted_not_before       Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest such time; equal to deleted_at when that is exact; NULL while it exists' CODEC(Delta, ZSTD(1)),
    version                  UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL',
    uid_key                  UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, uid)), 64), farmHash64(cluster, uid)) COMMENT 'cluster and uid as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    volume_key               UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, volume_uid)), 64), farmHash64(cluster, volume_uid)) COMMENT 'cluster and volume_uid as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    INDEX by_uid uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_volume volume_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, namespace, uid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per PersistentVolumeClaim, also of deleted ones. Read with FINAL.';

-- A pod that mounts storage. Of an uncertain moment the tables that grow with the pods store the latest time and how much earlier it can
-- have been: that is nearly always 0 and takes no space. The earliest time is computed (ALIAS), so SELECT * has it only with the setting
-- asterisk_include_alias_columns = 1.
CREATE TABLE IF NOT EXISTS pods
(
    cluster             LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid                 String COMMENT 'UID of the Pod' CODEC(ZSTD(1)),
    namespace           LowCardinality(String) COMMENT 'metadata.namespace',
    name                String COMMENT 'metadata.name' CODEC(ZSTD(1)),
    node                LowCardinality(String) COMMENT 'the node it runs or ran on; empty until it is scheduled' CODEC(ZSTD(1)),
    service_account     LowCardinality(String) COMMENT 'spec.serviceAccountName' CODEC(ZSTD(1)),
    owner               LowCardinality(String) COMMENT 'its owner; empty if unknown' CODEC(ZSTD(1)),
    groups              Array(LowCardinality(String)) COMMENT 'the groups of that owner' CODEC(ZSTD(1)),
    workload_kind       LowCardinality(String) COMMENT 'kind of its topmost controller: Deployment, StatefulSet, CronJob, ...; empty if it has none' CODEC(ZSTD(1)),
    workload_name       LowCardinality(String) COMMENT 'name of that controller; empty if it has none' CODEC(ZSTD(1)),
    workload_uid        String COMMENT 'UID of that controller; empty if it has none' CODEC(ZSTD(3)),
    phase               LowCardinality(String) COMMENT 'Pending, Running, Succeeded, Failed or Unknown' CODEC(ZSTD(1)),
    reason              LowCardinality(String) COMMENT 'status.reason: Evicted, NodeLost, ...; empty if there is none' CODEC(ZSTD(1)),
    labels              Map(LowCardinality(String), String) COMMENT 'metadata.labels' CODEC(ZSTD(1)),
    created_at          DateTime64(6, 'UTC') COMMENT 'creationTimestamp' CODEC(GCD, Delta, ZSTD(1)),
    started_at          Nullable(DateTime64(6, 'UTC')) COMMENT 'first start of any of its containers; NULL before' CODEC(GCD, Delta, ZSTD(1)),
    finished_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'last end of its containers; NULL until all have ended' CODEC(GCD, T64, ZSTD(1)),
    deleted_at          Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which it can have been deleted; NULL while it exists' CODEC(T64, ZSTD(1)),
    deleted_not_before  Nullable(DateTime64(6, 'UTC')) ALIAS deleted_at - toIntervalMicrosecond(deleted_uncertainty) COMMENT 'the earliest such time; equal to deleted_at when that is exact; NULL while it exists',
    deleted_uncertainty Int64 COMMENT 'microseconds from deleted_not_before to deleted_at; 0 when that is exact' CODEC(ZSTD(1)),
    version             UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(T64, ZSTD(1)),
    INDEX by_uid uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_name name TYPE bloom_filter GRANULARITY 1,
    INDEX by_workload workload_name TYPE bloom_filter GRANULARITY 1,
    INDEX by_workload_uid workload_uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_node node TYPE bloom_filter GRANULARITY 1,
    INDEX by_owner owner TYPE bloom_filter GRANULARITY 1,
    INDEX by_group groups TYPE bloom_filter GRANULARITY 1,
    INDEX by_deletion deleted_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(toStartOfQuarter(created_at))
ORDER BY (cluster, namespace, created_at, uid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1
COMMENT 'One row per pod that mounts storage, also of deleted ones. Read with FINAL.';

-- A container of a pod that mounts storage.
CREATE TABLE IF NOT EXISTS containers
(
    cluster        LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace      LowCardinality(String) COMMENT 'namespace of its pod',
    pod_created_at DateTime64(6, 'UTC') COMMENT 'creationTimestamp of its pod' CODEC(GCD, Delta, ZSTD(1)),
    pod_uid        String COMMENT 'UID of its pod' CODEC(ZSTD(1)),
    name           LowCardinality(String) COMMENT 'its name in the pod' CODEC(ZSTD(1)),
    kind           LowCardinality(String) COMMENT 'init, sidecar, main or ephemeral' CODEC(ZSTD(1)),
    image          LowCardinality(String) COMMENT 'the image as the pod names it' CODEC(ZSTD(1)),
    command        LowCardinality(String) COMMENT 'first word of its command, never the arguments; empty if the pod leaves the command to the image' CODEC(ZSTD(1)),
    started_at     Nullable(DateTime64(6, 'UTC')) COMMENT 'its first start; NULL before' CODEC(GCD, Delta, ZSTD(1)),
    finished_at    Nullable(DateTime64(6, 'UTC')) COMMENT 'its last end; NULL while it runs or will be restarted' CODEC(GCD, T64, ZSTD(1)),
    restarts       Int32 COMMENT 'how often it was restarted' CODEC(T64, ZSTD(1)),
    version        UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(T64, ZSTD(1)),
    INDEX by_pod pod_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(toStartOfQuarter(pod_created_at))
ORDER BY (cluster, namespace, pod_created_at, pod_uid, name)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1
COMMENT 'One row per container of a pod that mounts storage, also of deleted ones. Read with FINAL.';

-- One container used one volume of its pod, for an interval: the heart of the catalog. What comes first in the key never
-- changes: the pod's namespace, the claim that its spec names, when it was created. So the mounts of a claim lie together, in
-- the order of time, and those of a volume are found by its claims. Quarters that are over are merged into one part each, which has the
-- UIDs of a claim once. A pod with several claims has its UID several times within a namespace: in large blocks it compresses to half.
CREATE TABLE IF NOT EXISTS mounts
(
    cluster             LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace           LowCardinality(String) COMMENT 'namespace of the pod',
    claim_name          String COMMENT 'name of the claim; empty if the pod names a backing store itself' CODEC(ZSTD(3)),
    pod_created_at      DateTime64(6, 'UTC') COMMENT 'creationTimestamp of the pod' CODEC(GCD, T64, ZSTD(1)),
    pod_uid             String COMMENT 'UID of the pod' CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 2097152, max_compress_block_size = 2097152),
    container           LowCardinality(String) COMMENT 'name of the container in the pod' CODEC(ZSTD(1)),
    volume              LowCardinality(String) COMMENT 'name of the volume in the pod' CODEC(ZSTD(1)),
    mount_path          LowCardinality(String) COMMENT 'path in the container; for a block device, the device path' CODEC(ZSTD(1)),
    node                LowCardinality(String) COMMENT 'the node that the pod runs on' CODEC(ZSTD(1)),
    sub_path            String COMMENT 'the part of the volume that is mounted; empty for the whole volume' CODEC(ZSTD(1)),
    read_only           Bool COMMENT 'true if mounted read-only',
    recursive_read_only Bool COMMENT 'true if the mounts below it are read-only, too',
    block_device        Bool COMMENT 'true if used as a raw block device',
    source_kind         LowCardinality(String) COMMENT 'kind of its backing store: nfs, csi, emptyDir, ...; empty until known' CODEC(ZSTD(1)),
    source_id           String COMMENT 'its backing store: id in volume_sources; empty until known' CODEC(ZSTD(3)),
    claim_uid           String COMMENT 'UID of the claim; empty if the pod names a backing store itself' CODEC(ZSTD(3)),
    volume_uid          String COMMENT 'UID of the PersistentVolume; empty if there is none' CODEC(ZSTD(3)),
    claim_volumes       UInt16 COMMENT 'how many volumes of the pod''s spec are claims: it mounts no more than that' CODEC(T64, ZSTD(1)),
    inline_volumes      UInt16 COMMENT 'how many volumes of the pod''s spec are storage that it names itself' CODEC(T64, ZSTD(1)),
    owner               LowCardinality(String) COMMENT 'owner of the pod; empty if unknown' CODEC(ZSTD(1)),
    groups              Array(LowCardinality(String)) COMMENT 'the groups of that owner' CODEC(ZSTD(1)),
    workload_kind       LowCardinality(String) COMMENT 'kind of the pod''s topmost controller: Deployment, StatefulSet, CronJob, ...; Pod if it has none' CODEC(ZSTD(1)),
    workload_name       LowCardinality(String) COMMENT 'name of that controller; of the pod if it has none' CODEC(ZSTD(1)),
    started_at          DateTime64(6, 'UTC') COMMENT 'the latest time at which the container can have started first' CODEC(GCD, T64, ZSTD(1)),
    started_not_before  DateTime64(6, 'UTC') ALIAS started_at - toIntervalMicrosecond(started_uncertainty) COMMENT 'the earliest such time; equal to started_at when that is exact',
    started_uncertainty Int64 COMMENT 'microseconds from started_not_before to started_at; 0 when that is exact' CODEC(ZSTD(1)),
    ended_at            Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which the use can have ended; NULL while it lasts' CODEC(GCD, T64, ZSTD(1)),
    ended_not_before    Nullable(DateTime64(6, 'UTC')) ALIAS ended_at - toIntervalMicrosecond(ended_uncertainty) COMMENT 'the earliest such time; equal to ended_at when that is exact; NULL while the use lasts',
    ended_uncertainty   Int64 COMMENT 'microseconds from ended_not_before to ended_at; 0 when that is exact' CODEC(ZSTD(1)),
    end_reason          LowCardinality(String) COMMENT 'Completed, Error, OOMKilled, Evicted, Deleted, ...; empty while the use lasts' CODEC(ZSTD(1)),
    version             UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(T64, ZSTD(1)),
    INDEX by_pod pod_uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_claim claim_uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_volume volume_uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_source source_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_end ended_at TYPE minmax GRANULARITY 1,
    INDEX by_version version TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(toStartOfQuarter(pod_created_at))
ORDER BY (cluster, namespace, claim_name, pod_created_at, pod_uid, container, volume, mount_path)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1
COMMENT 'One row per container and volume it mounts, from the first start to the last end. Read with FINAL.';

-- What the mounts of a volume come to now: whether it is in use, else when its last use ended, and whose that was. Without
-- it each question about the present would read all of the history.
CREATE TABLE IF NOT EXISTS volume_uses
(
    cluster               LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    volume_uid            String COMMENT 'UID of the PersistentVolume' CODEC(ZSTD(1)),
    in_use                Bool COMMENT 'true while a container uses it',
    last_ended_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which its last use can have ended; NULL while it is in use, or if no use is known' CODEC(Delta, ZSTD(1)),
    last_ended_not_before Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest such time; equal to last_ended_at when that is exact; NULL when that is NULL' CODEC(Delta, ZSTD(1)),
    last_namespace        LowCardinality(String) COMMENT 'namespace of the pod whose use ended last; empty, as the next four columns, while the volume is in use or if no use is known',
    last_pod_uid          String COMMENT 'UID of that pod' CODEC(ZSTD(1)),
    last_pod              String COMMENT 'name of that pod' CODEC(ZSTD(1)),
    last_workload_kind    LowCardinality(String) COMMENT 'kind of the workload of that pod',
    last_workload_name    LowCardinality(String) COMMENT 'name of that workload',
    version               UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(Delta, ZSTD(1)),
    volume_key            UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, volume_uid)), 64), farmHash64(cluster, volume_uid)) COMMENT 'cluster and volume_uid as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    INDEX by_volume volume_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
-- FINAL reads the sorting key of each row: a number takes half of the time of a UID.
ORDER BY (cluster, volume_key)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per PersistentVolume that was ever used: its present use, or its last one. Read with FINAL.';

-- What a volume is doing now, as the metrics show it: what would else be put together from volumes, claims, bindings, mounts and coverage.
CREATE TABLE IF NOT EXISTS volume_states
(
    cluster         LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    volume_uid      String COMMENT 'UID of the PersistentVolume' CODEC(ZSTD(1)),
    name            String COMMENT 'name of the PersistentVolume' CODEC(ZSTD(1)),
    phase           LowCardinality(String) COMMENT 'Pending, Available, Bound, Released or Failed',
    status          LowCardinality(String) COMMENT 'mounted, pending (a pod that has not started awaits it), idle (used before, not now), never_mounted, available (no claim yet), released (its claim is gone), failed or deleted',
    status_since    Nullable(DateTime64(6, 'UTC')) COMMENT 'when it came into that; NULL if that is not known' CODEC(Delta, ZSTD(1)),
    idle_since      Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which its last use can have ended, else since when it was bound or exists; NULL while it is mounted, pending or deleted' CODEC(Delta, ZSTD(1)),
    unused_since    Nullable(DateTime64(6, 'UTC')) COMMENT 'since when the API server vouches that no pod refers to its claim (condition Unused); NULL if it does not' CODEC(Delta, ZSTD(1)),
    claim_uid       String COMMENT 'UID of the claim it is bound to or was released from; empty if none' CODEC(ZSTD(1)),
    claim_namespace LowCardinality(String) COMMENT 'namespace of that claim; also of one that is not bound yet',
    claim_name      String COMMENT 'name of that claim' CODEC(ZSTD(1)),
    owner           LowCardinality(String) COMMENT 'owner of that claim; empty if it has none',
    groups          Array(LowCardinality(String)) COMMENT 'groups of that claim; empty if it has none',
    storage_class   LowCardinality(String) COMMENT 'StorageClass of the volume; empty if it names none',
    reclaim_policy  LowCardinality(String) COMMENT 'Delete, Retain or Recycle',
    capacity_bytes  Int64 COMMENT 'size in bytes' CODEC(T64, ZSTD(1)),
    keep_until      Nullable(DateTime64(6, 'UTC')) COMMENT 'until when an annotation of the volume or its claim keeps it, though nobody uses it: the end of the day that the annotation names (docs/metrics.md); NULL without one that can be read' CODEC(Delta, ZSTD(1)),
    keep_reason     String COMMENT 'why, as that annotation says; empty if it gives no reason' CODEC(ZSTD(1)),
    keep_unreadable String COMMENT 'the text of such an annotation that cannot be read; else empty' CODEC(ZSTD(1)),
    version         UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(Delta, ZSTD(1)),
    volume_key      UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, volume_uid)), 64), farmHash64(cluster, volume_uid)) COMMENT 'cluster and volume_uid as a number, by which rows are found and joined several times as fast' CODEC(NONE)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, volume_uid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per PersistentVolume: its present state, and since when nobody uses it. Read with FINAL.';

-- A claim was bound to a volume. ordinal tells bindings of the same claim and volume apart. The volume names the claim, so its name is
-- known even if it was gone before the first tracker came. Most questions name a namespace, so the namespace comes first in the key.
CREATE TABLE IF NOT EXISTS bindings
(
    cluster             LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace           LowCardinality(String) COMMENT 'namespace of the claim',
    claim_name          String COMMENT 'name of the claim' CODEC(ZSTD(1)),
    claim_uid           String COMMENT 'UID of the claim' CODEC(ZSTD(1)),
    volume_uid          String COMMENT 'UID of the volume' CODEC(ZSTD(1)),
    ordinal             UInt16 COMMENT '0 for the first binding of this claim and volume, 1 for the next, ...',
    bound_at            Nullable(DateTime64(6, 'UTC')) COMMENT 'when the claim got the volume; NULL if unknown' CODEC(Delta, ZSTD(1)),
    released_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest time at which the claim can have lost the volume; NULL while it has it' CODEC(Delta, ZSTD(1)),
    released_not_before Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest such time; equal to released_at when that is exact; NULL while the claim has the volume' CODEC(Delta, ZSTD(1)),
    version             UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL',
    claim_key           UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, claim_uid)), 64), farmHash64(cluster, claim_uid)) COMMENT 'cluster and claim_uid as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    volume_key          UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, volume_uid)), 64), farmHash64(cluster, volume_uid)) COMMENT 'cluster and volume_uid as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    INDEX by_claim claim_uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_volume volume_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
-- Numbers, for the same reason as in volume_uses.
PRIMARY KEY (cluster, namespace, claim_key, volume_key)
ORDER BY (cluster, namespace, claim_key, volume_key, ordinal)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per binding of a claim to a volume. Read with FINAL.';

-- A backing store as volumes name it. The id is a hash of kind and attributes, so all volumes
-- on the same export, LUN or directory share one row.
CREATE TABLE IF NOT EXISTS volume_sources
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    id         String COMMENT 'hash of kind and attributes; source_id of volumes and mounts' CODEC(ZSTD(1)),
    kind       LowCardinality(String) COMMENT 'field name in the API: nfs, iscsi, csi, hostPath, emptyDir, ...',
    driver     LowCardinality(String) COMMENT 'CSI or flexVolume driver; else empty',
    server     LowCardinality(String) COMMENT 'address of the store: host, portal, monitors; empty if the source names none',
    path       String COMMENT 'export, LUN, handle or directory; empty if the source names none' CODEC(ZSTD(1)),
    attributes Map(LowCardinality(String), String) COMMENT 'all fields of the source, flattened with dots, without references to secrets' CODEC(ZSTD(1)),
    version    UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL',
    id_key     UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, id)), 64), farmHash64(cluster, id)) COMMENT 'cluster and id as a number, by which rows are found and joined several times as fast' CODEC(NONE)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per backing store that volumes or pods name. Read with FINAL.';

-- A VolumeAttachment: a volume is attached to a node.
CREATE TABLE IF NOT EXISTS attachments
(
    cluster     LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid         String COMMENT 'UID of the VolumeAttachment' CODEC(ZSTD(1)),
    volume_uid  String COMMENT 'UID of the PersistentVolume; empty for an inline volume of a pod' CODEC(ZSTD(1)),
    node        LowCardinality(String) COMMENT 'the node that the volume is attached to',
    attacher    LowCardinality(String) COMMENT 'the CSI driver',
    created_at  Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp, since when the node waits for the volume; NULL if unknown' CODEC(ZSTD(1)),
    attached    Bool COMMENT 'true once the volume was attached to the node',
    attached_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was attached; NULL until then, and if nobody knows when' CODEC(ZSTD(1)),
    detached_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when the VolumeAttachment was deleted; NULL while it exists' CODEC(ZSTD(1)),
    error       String COMMENT 'the last error of attaching or detaching; empty if there is none' CODEC(ZSTD(1)),
    version     UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL',
    volume_key  UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, volume_uid)), 64), farmHash64(cluster, volume_uid)) COMMENT 'cluster and volume_uid as a number, by which rows are found and joined several times as fast' CODEC(NONE),
    INDEX by_volume volume_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, uid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per VolumeAttachment, also of deleted ones: a volume is attached to a node. Read with FINAL.';

-- A StorageClass.
CREATE TABLE IF NOT EXISTS storage_classes
(
    cluster        LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid            String COMMENT 'UID of the StorageClass' CODEC(ZSTD(1)),
    name           LowCardinality(String) COMMENT 'metadata.name',
    provisioner    LowCardinality(String) COMMENT 'the provisioner of its volumes',
    reclaim_policy LowCardinality(String) COMMENT 'Delete or Retain',
    binding_mode   LowCardinality(String) COMMENT 'Immediate or WaitForFirstConsumer',
    expansion      Bool COMMENT 'true if claims may grow (allowVolumeExpansion)',
    parameters     Map(LowCardinality(String), String) COMMENT 'parameters for the provisioner' CODEC(ZSTD(1)),
    created_at     Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp; NULL if unknown',
    deleted_at     Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was deleted; NULL while it exists',
    version        UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, uid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per StorageClass, also of deleted ones. Read with FINAL.';

-- A sample of a CSIStorageCapacity, written when the driver reports a new value, and when the object
-- is deleted. The key has the object and the time: writing a sample again changes nothing, and of two
-- samples of one moment the last one counts. Two trackers date a sample by their own clocks, and
-- recognize it by resource_version.
CREATE TABLE IF NOT EXISTS storage_capacity
(
    cluster              LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    at                   DateTime64(6, 'UTC') COMMENT 'when the tracker observed the value' CODEC(Delta, ZSTD(1)),
    uid                  String COMMENT 'UID of the CSIStorageCapacity' CODEC(ZSTD(1)),
    storage_class        LowCardinality(String) COMMENT 'the class that the value is for',
    driver               LowCardinality(String) COMMENT 'the provisioner of the class',
    topology             String COMMENT 'selector of the nodes that can reach the storage; empty if none' CODEC(ZSTD(1)),
    capacity_bytes       Nullable(Int64) COMMENT 'bytes that can still be provisioned; NULL if the driver does not say, and once the object is deleted. argMax passes over NULL: for the last value write argMax(tuple(capacity_bytes), at).1' CODEC(ZSTD(1)),
    maximum_volume_bytes Int64 COMMENT 'size in bytes of the largest volume that can be provisioned; 0 if the driver does not say' CODEC(ZSTD(1)),
    resource_version     String COMMENT 'metadata.resourceVersion of the CSIStorageCapacity, or of the event that showed its deletion' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, storage_class, topology, uid, at)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per value of a CSIStorageCapacity that differs from the one before, and one for its deletion: how much storage its class could still provision. Read with FINAL.';

-- How full a volume is, by the kubelet of a node that has it mounted. A row is written when
-- the values differ from the row before; until the next row, the last one stays valid. Most questions name a
-- namespace, so the namespace comes first in the key; a volume that had claims in several has rows in each of them.
CREATE TABLE IF NOT EXISTS usage
(
    cluster         LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    at              DateTime64(6, 'UTC') COMMENT 'when the kubelet measured, by its node''s clock, in whole seconds' CODEC(Delta, ZSTD(1)),
    namespace       LowCardinality(String) COMMENT 'namespace of the claim through which it was used',
    claim_uid       String COMMENT 'UID of that claim' CODEC(ZSTD(1)),
    volume_uid      String COMMENT 'UID of the PersistentVolume' CODEC(ZSTD(1)),
    capacity_bytes  Int64 COMMENT 'size of the file system in bytes, which can differ from the size of the volume' CODEC(Delta, ZSTD(1)),
    used_bytes      Int64 COMMENT 'used bytes; of a directory on a shared file system, those of the whole file system' CODEC(Delta, ZSTD(1)),
    available_bytes Int64 COMMENT 'bytes that can still be written; less than the difference if some are reserved' CODEC(Delta, ZSTD(1)),
    inodes          Int64 COMMENT 'how many files the file system can have; 0 if it has no such limit' CODEC(Delta, ZSTD(1)),
    inodes_used     Int64 COMMENT 'how many files it has' CODEC(Delta, ZSTD(1)),
    INDEX by_volume volume_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, namespace, volume_uid, at)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per measurement of a volume by a kubelet that differs from the one before: how full the volume was from then on. Read with FINAL.';

-- The last sample of each volume, so that the present can be asked without all samples.
CREATE TABLE IF NOT EXISTS last_usage
(
    cluster         LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    volume_uid      String COMMENT 'UID of the PersistentVolume' CODEC(ZSTD(1)),
    at              DateTime64(6, 'UTC') COMMENT 'when the kubelet measured, by its node''s clock, in whole seconds' CODEC(T64, ZSTD(1)),
    claim_uid       String COMMENT 'UID of the claim through which it was used' CODEC(ZSTD(1)),
    capacity_bytes  Int64 COMMENT 'size of the file system in bytes, which can differ from the size of the volume' CODEC(T64, ZSTD(1)),
    used_bytes      Int64 COMMENT 'used bytes; of a directory on a shared file system, those of the whole file system' CODEC(T64, ZSTD(1)),
    available_bytes Int64 COMMENT 'bytes that can still be written; less than the difference if some are reserved' CODEC(T64, ZSTD(1)),
    inodes          Int64 COMMENT 'how many files the file system can have; 0 if it has no such limit' CODEC(T64, ZSTD(1)),
    inodes_used     Int64 COMMENT 'how many files it has' CODEC(T64, ZSTD(1)),
    volume_key      UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, volume_uid)), 64), farmHash64(cluster, volume_uid)) COMMENT 'cluster and volume_uid as a number, by which rows are found and joined several times as fast' CODEC(NONE)
)
ENGINE = ReplacingMergeTree(at)
ORDER BY (cluster, volume_uid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per volume that a kubelet has measured: its last row of usage. Read with FINAL.';

CREATE MATERIALIZED VIEW IF NOT EXISTS last_usage_view TO last_usage
AS SELECT cluster, volume_uid, at, claim_uid, capacity_bytes, used_bytes, available_bytes, inodes, inodes_used FROM usage
COMMENT 'Copies each row of usage into last_usage.';

-- What claims and volumes took on each day: a byte for a second is a byte-second. The tracker sums up a day when it is over and all
-- of it is known, so these sums stay when the mounts and samples behind them have expired. A day is summed up again while
-- what is known of it may change; a row that is no longer right then becomes zero. So a day keeps the owners that there were when it was
-- last summed up, some three days after it.
CREATE TABLE IF NOT EXISTS byte_seconds_daily
(
    cluster                LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    day                    Date COMMENT 'the day, in UTC' CODEC(Delta, ZSTD(1)),
    namespace              LowCardinality(String) COMMENT 'namespace of the claims; of a volume, that of the claim that it was bound to or was released from',
    storage_class          LowCardinality(String) COMMENT 'the StorageClass; empty if there is none',
    owner                  LowCardinality(String) COMMENT 'owner of these claims when the day was summed up; empty if they had none',
    groups                 Array(LowCardinality(String)) COMMENT 'groups of that owner',
    claim_seconds          Int64 COMMENT 'for how many seconds claims existed, all together: 86400 for one that existed all day' CODEC(ZSTD(1)),
    volume_seconds         Int64 COMMENT 'for how many seconds volumes were bound or released, all together' CODEC(ZSTD(1)),
    requested_byte_seconds Int128 COMMENT 'what these claims asked for, in byte-seconds' CODEC(ZSTD(1)),
    capacity_byte_seconds  Int128 COMMENT 'the sizes of these volumes, in byte-seconds' CODEC(ZSTD(1)),
    idle_byte_seconds      Int128 COMMENT 'the sizes of these volumes while nobody used them, in byte-seconds' CODEC(ZSTD(1)),
    used_byte_seconds      Nullable(Int128) COMMENT 'what was used of their file systems, in byte-seconds; NULL if no kubelet has measured one' CODEC(ZSTD(1)),
    version                UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, day, namespace, storage_class, owner, groups)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per day, namespace, storage class and owner: the space that claims and volumes took. A day that is done has one without these as well, of zeros if there was nothing. Read with FINAL.';

-- Who used what for how long, on each day: summed up as byte_seconds_daily is, and as lasting. The days of a claim lie together, so
-- that its UIDs take space once a month.
CREATE TABLE IF NOT EXISTS use_seconds_daily
(
    cluster       LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace     LowCardinality(String) COMMENT 'namespace of the pods and of the claim',
    claim_name    String COMMENT 'name of the claim' CODEC(ZSTD(1)),
    claim_uid     String COMMENT 'UID of the claim' CODEC(ZSTD(1)),
    volume_uid    String COMMENT 'UID of the volume; empty if it is not known' CODEC(ZSTD(1)),
    workload_kind LowCardinality(String) COMMENT 'kind of the topmost controller of the pods; Pod for a pod without one',
    workload_name LowCardinality(String) COMMENT 'name of that controller, or of that pod',
    owner         LowCardinality(String) COMMENT 'owner of the pods, else of the claim, when the day was summed up; empty if unknown',
    groups        Array(LowCardinality(String)) COMMENT 'the groups of that owner',
    use_hash      UInt64 MATERIALIZED cityHash64(cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups) COMMENT 'a number for the columns before, by which uses are told apart quickly' CODEC(ZSTD(1)),
    day           Date COMMENT 'the day, in UTC' CODEC(Delta, ZSTD(1)),
    pods          UInt32 COMMENT 'how many pods of the workload used the claim on that day' CODEC(T64, ZSTD(1)),
    new_pods      UInt32 COMMENT 'how many of these pods began to use it on that day: add these up over days' CODEC(T64, ZSTD(1)),
    use_seconds   Int64 COMMENT 'for how many seconds of the day any of these pods used it: 86400 if one always did' CODEC(T64, ZSTD(1)),
    version       UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(day)
ORDER BY (cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, day)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1
COMMENT 'One row per day, claim, and workload that used it: for how long. Read with FINAL.';

-- The same by month, from the days, so that years are added up quickly. A month is summed up when all of its days are. A row without
-- a claim, written last, says that the month is complete.
CREATE TABLE IF NOT EXISTS use_seconds_monthly
(
    cluster       LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace     LowCardinality(String) COMMENT 'namespace of the pods and of the claim',
    claim_name    String COMMENT 'name of the claim' CODEC(ZSTD(1)),
    claim_uid     String COMMENT 'UID of the claim' CODEC(ZSTD(1)),
    volume_uid    String COMMENT 'UID of the volume; empty if it is not known' CODEC(ZSTD(1)),
    workload_kind LowCardinality(String) COMMENT 'kind of the topmost controller of the pods; Pod for a pod without one',
    workload_name LowCardinality(String) COMMENT 'name of that controller, or of that pod',
    owner         LowCardinality(String) COMMENT 'owner of the pods, else of the claim, when the day was summed up; empty if unknown',
    groups        Array(LowCardinality(String)) COMMENT 'the groups of that owner',
    use_hash      UInt64 MATERIALIZED cityHash64(cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups) COMMENT 'a number for the columns before, by which uses are told apart quickly' CODEC(ZSTD(1)),
    month         Date COMMENT 'the first day of the month, in UTC' CODEC(Delta, ZSTD(1)),
    first_day     Date COMMENT 'the first day of the month on which they used it' CODEC(T64, ZSTD(1)),
    last_day      Date COMMENT 'the last such day' CODEC(T64, ZSTD(1)),
    pods          UInt32 COMMENT 'how many pods of the workload used the claim in that month, of those that did on the first day or began later' CODEC(T64, ZSTD(1)),
    new_pods      UInt32 COMMENT 'how many of these pods began to use it in that month: add these up over months' CODEC(T64, ZSTD(1)),
    use_seconds   Int64 COMMENT 'for how many seconds of the month any of these pods used it' CODEC(T64, ZSTD(1)),
    version       UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYear(month)
ORDER BY (cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, month)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1
COMMENT 'One row per month, claim, and workload that used it: for how long. Read with FINAL.';

-- The mounts of the pods that were created in one quarter, summed up each week, so that a question on years need not read
-- each of them. A pod was created in one quarter only, so pods can be added up over quarters. A mount can change later: which rows are
-- still right says summed_quarters. A row that is no longer right becomes zero.
CREATE TABLE IF NOT EXISTS mounts_quarterly
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace        LowCardinality(String) COMMENT 'namespace of the pods',
    claim_name       String COMMENT 'name of the claim; empty if the pods name a backing store themselves' CODEC(ZSTD(1)),
    claim_uid        String COMMENT 'UID of the claim; empty if the pods name a backing store themselves' CODEC(ZSTD(1)),
    volume_uid       String COMMENT 'UID of the PersistentVolume; empty if there is none' CODEC(ZSTD(1)),
    source_kind      LowCardinality(String) COMMENT 'kind of the backing store; empty if it was not known' CODEC(ZSTD(1)),
    source_id        String COMMENT 'the backing store: id in volume_sources; empty if it was not known' CODEC(ZSTD(1)),
    workload_kind    LowCardinality(String) COMMENT 'kind of the topmost controller of the pods; Pod for a pod without one',
    workload_name    LowCardinality(String) COMMENT 'name of that controller, or of that pod',
    owner            LowCardinality(String) COMMENT 'owner of the pods; empty if unknown',
    groups           Array(LowCardinality(String)) COMMENT 'the groups of that owner',
    quarter          Date COMMENT 'the first day of the quarter in which the pods were created, in UTC' CODEC(Delta, ZSTD(1)),
    until            Date COMMENT 'the pods that were created before this day are summed up: the end of the quarter, or a Monday in it. Of the running quarter, read those until the day that summed_quarters has' CODEC(T64, ZSTD(1)),
    pods             UInt32 COMMENT 'how many pods' CODEC(T64, ZSTD(1)),
    nodes            Array(LowCardinality(String)) COMMENT 'the nodes that they ran on' CODEC(ZSTD(1)),
    apart            Bool COMMENT 'true if none of these pods is in another row of the same volume or backing store: only then can pods be added up',
    first_started_at DateTime64(6, 'UTC') COMMENT 'the earliest start of a mount: started_at in mounts' CODEC(GCD, T64, ZSTD(1)),
    last_started_at  DateTime64(6, 'UTC') COMMENT 'the latest start' CODEC(GCD, T64, ZSTD(1)),
    first_ended_at   Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest end of a mount: ended_at in mounts; NULL if none had ended' CODEC(GCD, T64, ZSTD(1)),
    last_ended_at    Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest end; NULL if one had not ended' CODEC(GCD, T64, ZSTD(1)),
    version          UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL' CODEC(ZSTD(1)),
    claim_key        UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, claim_uid)), 64), farmHash64(cluster, claim_uid)) COMMENT 'cluster and claim_uid as a number: a report over years compares numbers, and reads no names' CODEC(ZSTD(1)),
    volume_key       UInt128 MATERIALIZED if(volume_uid = '', 0, bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, volume_uid)), 64), farmHash64(cluster, volume_uid))) COMMENT 'cluster and volume_uid as a number; 0 if there is no volume' CODEC(ZSTD(1)),
    name_key         UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, namespace, claim_name, toYYYYMM(quarter))), 64), farmHash64(cluster, namespace, claim_name, toYYYYMM(quarter))) COMMENT 'cluster, namespace, claim_name and the month in which the quarter begins as a number' CODEC(NONE),
    place_hash       UInt64 MATERIALIZED cityHash64(cluster, namespace, claim_name, if(claim_name = '', source_kind, ''), if(claim_name = '', source_id, '')) COMMENT 'hash of what the report history has rows of: a claim, or a backing store that the pods name themselves' CODEC(ZSTD(1)),
    row_hash         UInt64 MATERIALIZED cityHash64(owner, groups, claim_uid, volume_uid, source_kind, source_id) COMMENT 'hash of the columns that distinguish these rows' CODEC(ZSTD(1)),
    INDEX by_apart apart TYPE minmax GRANULARITY 1,
    INDEX by_last_start last_started_at TYPE minmax GRANULARITY 1,
    INDEX by_first_end first_ended_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (cluster, toYYYYMM(quarter), until)
ORDER BY (cluster, namespace, claim_name, claim_uid, volume_uid, source_kind, source_id, workload_kind, workload_name, owner, groups, quarter, until)
-- A namespace has few rows of a quarter: small granules spare reading those of others.
SETTINGS index_granularity = 1024, min_compress_block_size = 16384,
    fsync_after_insert = 1, fsync_part_directory = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1
COMMENT 'One row per quarter (of the running one, per day until which it is summed up), claim or backing store, and workload whose pods were created then and used it. Read with FINAL.';

-- What mounts_quarterly has.
CREATE TABLE IF NOT EXISTS summed_quarters
(
    cluster        LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    first_quarter  Date COMMENT 'the first quarter that is summed up; no mount of its pods had expired by then',
    until          Date COMMENT 'the pods that were created before this day are summed up: a Monday, so of the running quarter there are the weeks that are over',
    version        UInt64 COMMENT 'mounts with a higher version have changed since: the sums of their claim and quarter do not count. The row with the highest version is the current one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY cluster
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per cluster: since which quarter and until when mounts_quarterly has sums. Read with FINAL.';

-- A Namespace.
CREATE TABLE IF NOT EXISTS namespaces
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid        String COMMENT 'UID of the Namespace' CODEC(ZSTD(1)),
    name       LowCardinality(String) COMMENT 'metadata.name',
    labels     Map(LowCardinality(String), String) COMMENT 'metadata.labels' CODEC(ZSTD(1)),
    owner      LowCardinality(String) COMMENT 'its owner, from its labels or annotations; empty if unknown',
    groups     Array(LowCardinality(String)) COMMENT 'its groups, from its labels or annotations',
    created_at Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp; NULL if unknown',
    deleted_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was deleted; NULL while it exists',
    version    UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, uid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per Namespace, also of deleted ones. Read with FINAL.';

-- In which namespaces the pods and claims of an owner are or were, so that a question about an owner or a group reads these alone.
-- Where a mount has no owner or no groups, a row without them says so: only there such a question compares mounts with claims.
-- A row stays when the pod or claim has got another owner.
CREATE TABLE IF NOT EXISTS owner_namespaces
(
    cluster   LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    owner     LowCardinality(String) COMMENT 'an owner that a pod or claim has or had; empty if it is unknown, or if a mount has none',
    groups    Array(LowCardinality(String)) COMMENT 'the groups of that pod, claim or mount at that time',
    namespace LowCardinality(String) COMMENT 'namespace of that pod, claim or mount'
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, owner, groups, namespace)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per owner, and namespace in which a pod or claim of it is or was, or in which a mount has no owner or groups. Read with FINAL.';

CREATE MATERIALIZED VIEW IF NOT EXISTS owner_namespaces_of_pods TO owner_namespaces
AS SELECT DISTINCT cluster, owner, groups, namespace FROM pods WHERE owner != '' OR notEmpty(groups)
COMMENT 'Copies the owner of each row of pods into owner_namespaces.';

CREATE MATERIALIZED VIEW IF NOT EXISTS owner_namespaces_of_claims TO owner_namespaces
AS SELECT DISTINCT cluster, owner, groups, namespace FROM claims WHERE owner != '' OR notEmpty(groups)
COMMENT 'Copies the owner of each row of claims into owner_namespaces.';

CREATE MATERIALIZED VIEW IF NOT EXISTS owner_namespaces_of_mounts TO owner_namespaces
AS SELECT DISTINCT cluster, owner, groups, namespace FROM mounts WHERE owner = '' OR empty(groups)
COMMENT 'Copies mounts without an owner or groups into owner_namespaces.';

-- Which claims a volume has or had, by their namespaces: so a question about some claims finds their volumes, and in which namespaces other
-- claims of these are, without reading the volumes of all namespaces. A row stays when the volume has got another claim.
CREATE TABLE IF NOT EXISTS claimed_volumes
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace  LowCardinality(String) COMMENT 'namespace of a claim that the volume has or had',
    claim_key  UInt128 COMMENT 'uid_key of that claim; the key of an empty UID if the volume names a claim that does not have it' CODEC(NONE),
    volume_key UInt128 COMMENT 'uid_key of the volume' CODEC(NONE)
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, namespace, claim_key, volume_key)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per volume, and claim that it has or had, in the order of the namespaces of the claims. Read with FINAL.';

CREATE MATERIALIZED VIEW IF NOT EXISTS claimed_volumes_of_bindings TO claimed_volumes
AS SELECT DISTINCT cluster, namespace, claim_key, volume_key FROM bindings
COMMENT 'Copies claim and volume of each row of bindings into claimed_volumes.';

CREATE MATERIALIZED VIEW IF NOT EXISTS claimed_volumes_of_claims TO claimed_volumes
AS SELECT DISTINCT cluster, namespace, uid_key AS claim_key, volume_key FROM claims WHERE volume_uid != ''
COMMENT 'Copies claims with a volume into claimed_volumes.';

CREATE MATERIALIZED VIEW IF NOT EXISTS claimed_volumes_of_volumes TO claimed_volumes
AS SELECT DISTINCT cluster, claim_namespace AS namespace, claim_key, uid_key AS volume_key FROM volumes WHERE claim_namespace != ''
COMMENT 'Copies volumes with a claim into claimed_volumes.';

-- A change, for people to read. The months find a time, and the key an object. The key is the
-- whole row: writing a change again changes nothing.
CREATE TABLE IF NOT EXISTS changes
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    at               DateTime64(6, 'UTC') COMMENT 'when it happened; the latest that it can have been, if nobody watched' CODEC(GCD, T64, ZSTD(1)),
    kind             LowCardinality(String) COMMENT 'kind of the object: PersistentVolume, PersistentVolumeClaim, Pod, ...',
    uid              String COMMENT 'UID of the object' CODEC(ZSTD(1)),
    namespace        LowCardinality(String) COMMENT 'its namespace; empty if it has none',
    name             String COMMENT 'its name' CODEC(ZSTD(1)),
    action           LowCardinality(String) COMMENT 'created, bound, resized, phase, started, mounted, unmounted, released, deleted, ...: docs/catalog.md has all',
    details          String COMMENT 'details, such as 10Gi → 20Gi; empty if there are none' CODEC(ZSTD(1)),
    actor            LowCardinality(String) COMMENT 'the field manager that made the change; empty if the object does not name it',
    resource_version String COMMENT 'resourceVersion of the object in which the change was observed, of its deletion, or of the list that lacked it; empty if the object itself dates the change' CODEC(ZSTD(1)),
    INDEX by_uid uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
PRIMARY KEY (cluster, kind, namespace, uid, at)
ORDER BY (cluster, kind, namespace, uid, at, action, details, name, actor, resource_version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1
COMMENT 'One row per change of an object, for people to read. Read with FINAL.';

-- A version of an object that brought new information about storage. A tracker that lists
-- anew writes versions again: min keeps the time at which each was first observed.
CREATE TABLE IF NOT EXISTS objects
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    kind             LowCardinality(String) COMMENT 'PersistentVolume, PersistentVolumeClaim, Pod, ...',
    uid              String COMMENT 'UID of the object' CODEC(ZSTD(1)),
    namespace        SimpleAggregateFunction(any, String) COMMENT 'its namespace; empty if it has none' CODEC(ZSTD(1)),
    name             SimpleAggregateFunction(any, String) COMMENT 'its name' CODEC(ZSTD(1)),
    resource_version String COMMENT 'metadata.resourceVersion' CODEC(ZSTD(1)),
    observed_at      SimpleAggregateFunction(min, DateTime64(6, 'UTC')) COMMENT 'when a tracker first observed this version; order the versions of an object by it' CODEC(Delta, ZSTD(1)),
    object           SimpleAggregateFunction(any, String) COMMENT 'the object as JSON with the field names of the API, without fields that no storage question needs' CODEC(ZSTD(3)),
    INDEX by_name name TYPE bloom_filter GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (cluster, kind, uid, resource_version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per version of an object that brought new information about storage. Read with FINAL.';

-- The size and phase of a volume in each of its versions. objects has these among much else, which would take a second to read for a question.
CREATE TABLE IF NOT EXISTS volume_versions
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    volume_uid       String COMMENT 'UID of the PersistentVolume' CODEC(ZSTD(1)),
    resource_version String COMMENT 'metadata.resourceVersion of the volume' CODEC(ZSTD(1)),
    observed_at      SimpleAggregateFunction(min, DateTime64(6, 'UTC')) COMMENT 'when a tracker first observed this version' CODEC(Delta, ZSTD(1)),
    capacity_bytes   SimpleAggregateFunction(any, Nullable(Int64)) COMMENT 'size in bytes; NULL if spec.capacity.storage is not a whole number with or without a unit, or does not fit' CODEC(ZSTD(1)),
    phase            SimpleAggregateFunction(any, LowCardinality(String)) COMMENT 'Pending, Available, Bound, Released or Failed',
    phase_changed_at SimpleAggregateFunction(any, Nullable(DateTime64(6, 'UTC'))) COMMENT 'when it entered this phase; NULL if the API server does not say (before Kubernetes 1.28)' CODEC(Delta, ZSTD(1)),
    volume_key       UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, volume_uid)), 64), farmHash64(cluster, volume_uid)) COMMENT 'cluster and volume_uid as a number, by which rows are found and joined several times as fast' CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (cluster, volume_uid, resource_version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per version of a PersistentVolume that brought new information: its size and phase then. Read with FINAL.';

CREATE MATERIALIZED VIEW IF NOT EXISTS volume_versions_of_objects TO volume_versions
AS WITH
    JSONExtractString(object, 'spec', 'capacity', 'storage') AS quantity,
    if(match(quantity, '^[0-9]{1,18}([kMGTPE]|[KMGTPE]i)?$'),
        toInt128OrZero(extract(quantity, '^[0-9]+')) * transform(replaceRegexpOne(quantity, '^[0-9]+', ''),
            ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'],
            [1, 1000, 1000000, 1000000000, 1000000000000, 1000000000000000, 1000000000000000000,
                1024, 1048576, 1073741824, 1099511627776, 1125899906842624, 1152921504606846976], 0), -1) AS size
SELECT cluster, uid AS volume_uid, resource_version, observed_at,
    if(size BETWEEN 0 AND 9223372036854775807, toInt64(size), NULL) AS capacity_bytes,
    JSONExtractString(object, 'status', 'phase') AS phase,
    parseDateTime64BestEffortOrNull(JSONExtractString(object, 'status', 'lastPhaseTransitionTime'), 6, 'UTC') AS phase_changed_at
FROM objects
WHERE kind = 'PersistentVolume'
COMMENT 'Copies size and phase of each version of a volume into volume_versions.';

-- The condition Unused of a claim over time. It changes when the first pod comes and when the last one goes, so objects has many
-- versions of a claim: too many to read for a question.
CREATE TABLE IF NOT EXISTS unused_conditions
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace        LowCardinality(String) COMMENT 'namespace of the claim',
    claim_uid        String COMMENT 'UID of the PersistentVolumeClaim' CODEC(ZSTD(1)),
    resource_version String COMMENT 'metadata.resourceVersion of the claim' CODEC(ZSTD(1)),
    observed_at      SimpleAggregateFunction(min, DateTime64(6, 'UTC')) COMMENT 'when a tracker first observed this version' CODEC(Delta, ZSTD(1)),
    unused_since     SimpleAggregateFunction(any, Nullable(DateTime64(6, 'UTC'))) COMMENT 'since when no pod used the claim: lastTransitionTime; NULL if its status is not True, or that time cannot be read' CODEC(Delta, ZSTD(1)),
    claim_key        UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(cityHash64(cluster, claim_uid)), 64), farmHash64(cluster, claim_uid)) COMMENT 'cluster and claim_uid as a number, by which rows are found and joined several times as fast' CODEC(ZSTD(1)),
    INDEX by_claim claim_key TYPE bloom_filter GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (cluster, namespace, claim_uid, resource_version)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per version of a claim that has the condition Unused, which shows uses that no tracker observed. Read with FINAL.';

CREATE MATERIALIZED VIEW IF NOT EXISTS unused_conditions_of_objects TO unused_conditions
AS SELECT cluster, namespace, uid AS claim_uid, resource_version, observed_at, if(condition.2 = 'True', parseDateTime64BestEffortOrNull(condition.3, 6, 'UTC'), NULL) AS unused_since
FROM
(
    SELECT cluster, namespace, uid, resource_version, observed_at,
        arrayFirst(c -> c.1 = 'Unused', JSONExtract(object, 'status', 'conditions', 'Array(Tuple(type String, status String, lastTransitionTime String))')) AS condition
    FROM objects
    WHERE kind = 'PersistentVolumeClaim' AND position(object, '"Unused"') > 0
)
WHERE condition.1 = 'Unused'
COMMENT 'Copies the condition Unused of each version of a claim into unused_conditions.';

-- A span in which a tracker watched a kind and missed no event. The time between two spans
-- is a gap.
CREATE TABLE IF NOT EXISTS coverage
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    instance   LowCardinality(String) COMMENT 'the tracker, by the ID of its journal',
    kind       LowCardinality(String) COMMENT 'the kind that was watched',
    started_at DateTime64(6, 'UTC') COMMENT 'when the kind was listed: the tracker missed no event since' CODEC(Delta, ZSTD(1)),
    seen_at    DateTime64(6, 'UTC') COMMENT 'the last time at which the watch was known to work' CODEC(Delta, ZSTD(1)),
    ended_at   Nullable(DateTime64(6, 'UTC')) COMMENT 'when the watch was last known to work before a gap; NULL while no gap is known' CODEC(Delta, ZSTD(1)),
    version    UInt64 COMMENT 'the row with the highest version is the current one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, instance, kind, started_at)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per span in which a tracker watched a kind without a gap. Read with FINAL.';

-- How far the rows of each kind are written. A bookmark moves resource_version and not
-- event_version; trackers compare event_version, because they get bookmarks at different times.
CREATE TABLE IF NOT EXISTS checkpoints
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    instance         LowCardinality(String) COMMENT 'the tracker, by the ID of its journal',
    kind             LowCardinality(String) COMMENT 'kind of the objects',
    resource_version String COMMENT 'the catalog has all events of the kind up to this resourceVersion',
    event_version    String COMMENT 'resourceVersion of the last event or list, or where the watch resumed after a restart; resource_version can be that of a later bookmark',
    at               DateTime64(6, 'UTC') COMMENT 'when the watch reached it'
)
ENGINE = ReplacingMergeTree(at)
ORDER BY (cluster, instance, kind)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per tracker and kind: up to which resourceVersion the catalog has the kind. Read with FINAL.';

-- A row that ClickHouse refused because of its content.
CREATE TABLE IF NOT EXISTS catalog_rejects
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    at         DateTime64(6, 'UTC') COMMENT 'when ClickHouse refused the row' CODEC(Delta, ZSTD(1)),
    table_name LowCardinality(String) COMMENT 'the table that the row was for',
    row        String COMMENT 'the row as JSON' CODEC(ZSTD(1)),
    error      String COMMENT 'the error message of ClickHouse' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(at)
PRIMARY KEY (cluster, table_name)
ORDER BY (cluster, table_name, row)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'One row per row that ClickHouse refused because of its content. Read with FINAL.';
