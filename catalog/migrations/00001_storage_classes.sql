-- +goose NO TRANSACTION
-- +goose Up
-- A StorageClass. Few rows, so the key is the object alone.
CREATE TABLE IF NOT EXISTS storage_classes
(
    cluster        LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid            String COMMENT 'UID of the StorageClass',
    name           LowCardinality(String) COMMENT 'metadata.name',
    provisioner    LowCardinality(String) COMMENT 'who provisions its volumes',
    reclaim_policy LowCardinality(String) COMMENT 'Delete or Retain',
    binding_mode   LowCardinality(String) COMMENT 'Immediate or WaitForFirstConsumer',
    expansion      Bool COMMENT 'whether claims may grow (allowVolumeExpansion)',
    parameters     Map(LowCardinality(String), String) COMMENT 'parameters for the provisioner' CODEC(ZSTD(1)),
    created_at     Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp',
    deleted_at     Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was deleted; NULL while it exists',
    version        UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, uid)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per StorageClass. Read with FINAL.';
