-- +goose NO TRANSACTION
-- +goose Up
-- A PersistentVolume. Volumes have no namespace; the claim that has one is
-- found by claim_uid, hence its index.
CREATE TABLE IF NOT EXISTS volumes
(
    cluster            LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid                String COMMENT 'UID of the PersistentVolume',
    name               String COMMENT 'metadata.name' CODEC(ZSTD(1)),
    storage_class      LowCardinality(String) COMMENT 'spec.storageClassName',
    source_kind        LowCardinality(String) COMMENT 'kind of its backing store: nfs, iscsi, csi, local, ...',
    source_id          String COMMENT 'its backing store: id in volume_sources' CODEC(ZSTD(1)),
    driver             LowCardinality(String) COMMENT 'CSI or flexVolume driver, else empty',
    volume_handle      String COMMENT 'what the driver calls it' CODEC(ZSTD(1)),
    capacity_bytes     Int64 COMMENT 'size in bytes' CODEC(T64, ZSTD(1)),
    access_modes       Array(LowCardinality(String)) COMMENT 'ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod',
    volume_mode        LowCardinality(String) COMMENT 'Filesystem or Block',
    reclaim_policy     LowCardinality(String) COMMENT 'Delete, Retain or Recycle',
    phase              LowCardinality(String) COMMENT 'Pending, Available, Bound, Released or Failed',
    phase_changed_at   Nullable(DateTime64(6, 'UTC')) COMMENT 'when it came into this phase' CODEC(Delta, ZSTD(1)),
    claim_uid          String COMMENT 'UID of the claim it is bound to or was released from; empty if none' CODEC(ZSTD(1)),
    labels             Map(LowCardinality(String), String) COMMENT 'metadata.labels' CODEC(ZSTD(1)),
    annotations        Map(LowCardinality(String), String) COMMENT 'metadata.annotations' CODEC(ZSTD(1)),
    created_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp' CODEC(Delta, ZSTD(1)),
    deleted_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest it can have been deleted; NULL while it exists' CODEC(Delta, ZSTD(1)),
    deleted_not_before Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest it can have been deleted; equal to deleted_at when that is exact' CODEC(Delta, ZSTD(1)),
    version            UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL',
    INDEX by_name      name      TYPE bloom_filter GRANULARITY 1,
    INDEX by_claim     claim_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, uid)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per PersistentVolume, also of those deleted since. Read with FINAL.';
