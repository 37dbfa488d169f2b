-- +goose NO TRANSACTION
-- +goose Up
-- A VolumeAttachment. It is asked by its volume and by its node.
CREATE TABLE IF NOT EXISTS attachments
(
    cluster     LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid         String COMMENT 'UID of the VolumeAttachment' CODEC(ZSTD(1)),
    volume_uid  String COMMENT 'UID of the PersistentVolume; empty for one in line in a pod' CODEC(ZSTD(1)),
    node        LowCardinality(String) COMMENT 'the node that can reach the volume',
    attacher    LowCardinality(String) COMMENT 'the CSI driver',
    attached_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was attached; NULL until then' CODEC(ZSTD(1)),
    detached_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when the VolumeAttachment was gone; NULL while it exists' CODEC(ZSTD(1)),
    error       String COMMENT 'the last error of attaching or detaching, while there is one' CODEC(ZSTD(1)),
    version     UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL',
    INDEX by_volume volume_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, uid)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per VolumeAttachment. Read with FINAL.';
