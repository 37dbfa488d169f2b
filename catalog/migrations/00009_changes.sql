-- +goose NO TRANSACTION
-- +goose Up
-- What happened, for people to read. It is asked by time, so the key begins with
-- it; the key is the whole row, so writing a change again changes nothing.
-- Not partitioned: the first list of a cluster holds changes of many years, and
-- ClickHouse refuses a block that spans more than 100 partitions.
CREATE TABLE IF NOT EXISTS changes
(
    cluster   LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    at        DateTime64(6, 'UTC') COMMENT 'when it happened' CODEC(Delta, ZSTD(1)),
    kind      LowCardinality(String) COMMENT 'PersistentVolume, PersistentVolumeClaim, Pod or StorageClass',
    uid       String COMMENT 'UID of the object' CODEC(ZSTD(1)),
    namespace LowCardinality(String) COMMENT 'its namespace, if it has one',
    name      String COMMENT 'its name' CODEC(ZSTD(1)),
    action    LowCardinality(String) COMMENT 'created, bound, resized, phase, started, mounted, unmounted, released or deleted',
    details   String COMMENT 'what exactly, such as 10Gi → 20Gi' CODEC(ZSTD(1)),
    actor     LowCardinality(String) COMMENT 'the field manager that did it, where the object tells',
    INDEX by_uid uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, at, kind, uid, action, details, namespace, name, actor)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'The journal of what happened to storage. Read with FINAL.';
