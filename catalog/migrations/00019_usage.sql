-- +goose NO TRANSACTION
-- +goose Up
-- How full volumes are, as the kubelets say that have them mounted; a row whenever that differs
-- from the row before. While nobody uses a volume its last row holds.
CREATE TABLE IF NOT EXISTS usage
(
    cluster         LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    at              DateTime64(6, 'UTC') COMMENT 'when the kubelet looked, by its node''s clock, in whole seconds' CODEC(Delta, ZSTD(1)),
    claim_uid       String COMMENT 'the claim by which it was used' CODEC(ZSTD(1)),
    volume_uid      String COMMENT 'the PersistentVolume' CODEC(ZSTD(1)),
    capacity_bytes  Int64 COMMENT 'size of the file system, which can differ from the volume''s' CODEC(Delta, ZSTD(1)),
    used_bytes      Int64 COMMENT 'used space, in bytes' CODEC(Delta, ZSTD(1)),
    available_bytes Int64 COMMENT 'what can still be written, in bytes: less than the rest where some is reserved' CODEC(Delta, ZSTD(1)),
    inodes          Int64 COMMENT 'how many files there can be; 0 where the file system has no such limit' CODEC(Delta, ZSTD(1)),
    inodes_used     Int64 COMMENT 'how many files there are' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, volume_uid, at)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'How full volumes were, over time. Read with FINAL.';
