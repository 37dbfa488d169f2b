-- +goose NO TRANSACTION
-- +goose Up
-- A Namespace. Few rows, so the key is the object alone.
CREATE TABLE IF NOT EXISTS namespaces
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid        String COMMENT 'UID of the Namespace',
    name       LowCardinality(String) COMMENT 'metadata.name',
    labels     Map(LowCardinality(String), String) COMMENT 'metadata.labels' CODEC(ZSTD(1)),
    owner      LowCardinality(String) COMMENT 'who owns it, as its labels or annotations say',
    groups     Array(LowCardinality(String)) COMMENT 'the groups it belongs to, likewise',
    created_at Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp',
    deleted_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was deleted; NULL while it exists',
    version    UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, uid)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per Namespace. Read with FINAL.';
