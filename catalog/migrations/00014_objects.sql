-- +goose NO TRANSACTION
-- +goose Up
-- Each version of an object that said anything new about storage. One that is told
-- again, by a tracker that lists anew, keeps the moment at which it was first seen.
CREATE TABLE IF NOT EXISTS objects
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    kind             LowCardinality(String) COMMENT 'PersistentVolume, PersistentVolumeClaim, Pod, ...',
    uid              String COMMENT 'UID of the object' CODEC(ZSTD(1)),
    namespace        SimpleAggregateFunction(any, String) COMMENT 'its namespace; empty for an object of the cluster' CODEC(ZSTD(1)),
    name             SimpleAggregateFunction(any, String) COMMENT 'its name' CODEC(ZSTD(1)),
    resource_version String COMMENT 'its version, as the API server counts' CODEC(ZSTD(1)),
    observed_at      SimpleAggregateFunction(min, DateTime64(6, 'UTC')) COMMENT 'when it was first seen so; order an object''s versions by this' CODEC(Delta, ZSTD(1)),
    object           SimpleAggregateFunction(any, String) COMMENT 'the object in JSON, in the API''s own fields, without what no storage question needs' CODEC(ZSTD(3)),
    INDEX by_name name TYPE bloom_filter GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (cluster, kind, uid, resource_version)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per version of an object that said anything new about storage. Read with FINAL.';
