-- +goose NO TRANSACTION
-- +goose Up
-- A PersistentVolumeClaim. Most questions name a namespace, which never changes
-- for a UID, so it leads the key.
CREATE TABLE IF NOT EXISTS claims
(
    cluster            LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid                String COMMENT 'UID of the PersistentVolumeClaim',
    namespace          LowCardinality(String) COMMENT 'metadata.namespace',
    name               String COMMENT 'metadata.name' CODEC(ZSTD(1)),
    storage_class      LowCardinality(String) COMMENT 'spec.storageClassName',
    volume_uid         String COMMENT 'UID of the volume it is bound to; empty until that is known' CODEC(ZSTD(1)),
    volume_name        String COMMENT 'name of that volume' CODEC(ZSTD(1)),
    requested_bytes    Int64 COMMENT 'requested size in bytes' CODEC(T64, ZSTD(1)),
    capacity_bytes     Int64 COMMENT 'size in bytes that it has; 0 until bound' CODEC(T64, ZSTD(1)),
    access_modes       Array(LowCardinality(String)) COMMENT 'ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod',
    volume_mode        LowCardinality(String) COMMENT 'Filesystem or Block',
    phase              LowCardinality(String) COMMENT 'Pending, Bound or Lost',
    owner              LowCardinality(String) COMMENT 'who is billed for it; empty if nobody is known',
    groups             Array(LowCardinality(String)) COMMENT 'the groups that this owner belongs to',
    ephemeral          Bool COMMENT 'made for a generic ephemeral volume of a pod',
    pod_uid            String COMMENT 'UID of that pod, else empty' CODEC(ZSTD(1)),
    workload_kind      LowCardinality(String) COMMENT 'kind of the workload it was made for: StatefulSet, ...',
    workload_name      LowCardinality(String) COMMENT 'name of that workload',
    data_source_kind   LowCardinality(String) COMMENT 'what it was filled from: VolumeSnapshot, PersistentVolumeClaim, ...',
    data_source_name   String COMMENT 'name of what it was filled from' CODEC(ZSTD(1)),
    unused_since       Nullable(DateTime64(6, 'UTC')) COMMENT 'since when no pod refers to it, by the condition Unused; NULL while used or not told' CODEC(Delta, ZSTD(1)),
    labels             Map(LowCardinality(String), String) COMMENT 'metadata.labels' CODEC(ZSTD(1)),
    annotations        Map(LowCardinality(String), String) COMMENT 'metadata.annotations' CODEC(ZSTD(1)),
    created_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp' CODEC(Delta, ZSTD(1)),
    bound_at           Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was bound; NULL before' CODEC(Delta, ZSTD(1)),
    deleted_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest it can have been deleted; NULL while it exists' CODEC(Delta, ZSTD(1)),
    deleted_not_before Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest it can have been deleted; equal to deleted_at when that is exact' CODEC(Delta, ZSTD(1)),
    version            UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL',
    INDEX by_uid       uid        TYPE bloom_filter GRANULARITY 1,
    INDEX by_volume    volume_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, namespace, uid)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per PersistentVolumeClaim, also of those deleted since. Read with FINAL.';
