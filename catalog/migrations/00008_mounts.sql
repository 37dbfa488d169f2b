-- +goose NO TRANSACTION
-- +goose Up
-- One container's use of one volume of its pod, over an interval: the heart of
-- the catalog. The namespace never changes for a pod, so it may lead the key;
-- "who used this claim or volume", or a pod alone, goes by the indexes.
CREATE TABLE IF NOT EXISTS mounts
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    namespace        LowCardinality(String) COMMENT 'namespace of the pod',
    pod_uid          String COMMENT 'UID of the pod',
    container        LowCardinality(String) COMMENT 'name of the container in the pod',
    volume           LowCardinality(String) COMMENT 'name of the volume in the pod',
    mount_path       LowCardinality(String) COMMENT 'where the container sees it; of a block device, the device path',
    sub_path         String COMMENT 'the part of the volume that is mounted; empty for all of it' CODEC(ZSTD(1)),
    read_only        Bool COMMENT 'mounted read-only',
    block_device     Bool COMMENT 'used as a raw block device',
    source_kind      LowCardinality(String) COMMENT 'kind of the backing store: nfs, csi, emptyDir, ...; empty until known',
    source_id        String COMMENT 'the backing store: id in volume_sources' CODEC(ZSTD(1)),
    claim_uid        String COMMENT 'UID of the claim; empty where the pod names a backing store itself' CODEC(ZSTD(1)),
    claim_name       String COMMENT 'name of that claim' CODEC(ZSTD(1)),
    volume_uid       String COMMENT 'UID of the PersistentVolume; empty where there is none' CODEC(ZSTD(1)),
    started_at       DateTime64(6, 'UTC') COMMENT 'first start of the container' CODEC(Delta, ZSTD(1)),
    ended_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest the use can have ended; NULL while it goes on' CODEC(Delta, ZSTD(1)),
    ended_not_before Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest it can have ended; equal to ended_at when that is exact' CODEC(Delta, ZSTD(1)),
    end_reason       LowCardinality(String) COMMENT 'Completed, Error, OOMKilled, Evicted, Deleted, ...; empty while it goes on',
    version          UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL',
    INDEX by_pod     pod_uid    TYPE bloom_filter GRANULARITY 1,
    INDEX by_claim   claim_uid  TYPE bloom_filter GRANULARITY 1,
    INDEX by_volume  volume_uid TYPE bloom_filter GRANULARITY 1,
    INDEX by_source  source_id  TYPE bloom_filter GRANULARITY 1,
    INDEX by_start   started_at TYPE minmax GRANULARITY 4
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, namespace, pod_uid, container, volume, mount_path)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per container and volume it mounts, from first start to last end. Read with FINAL.';
