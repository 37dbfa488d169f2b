-- +goose NO TRANSACTION
-- +goose Up
-- A span in which a kind was watched and nothing can have been missed: what is
-- between two of them is a gap.
CREATE TABLE IF NOT EXISTS coverage
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    instance   LowCardinality(String) COMMENT 'the tracker: ID of its journal',
    kind       LowCardinality(String) COMMENT 'the kind that was watched',
    started_at DateTime64(6, 'UTC') COMMENT 'when it was listed: nothing after that can have been missed' CODEC(Delta, ZSTD(1)),
    seen_at    DateTime64(6, 'UTC') COMMENT 'the last moment at which the watch was known to be up' CODEC(Delta, ZSTD(1)),
    ended_at   Nullable(DateTime64(6, 'UTC')) COMMENT 'when the watch was last known to be up before a gap; NULL where none is known' CODEC(Delta, ZSTD(1)),
    version    UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, instance, kind, started_at)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per span in which a kind was watched without a gap. Read with FINAL.';

CREATE TABLE IF NOT EXISTS checkpoints
(
    cluster          LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    instance         LowCardinality(String) COMMENT 'the tracker: ID of its journal',
    kind             LowCardinality(String) COMMENT 'the kind',
    resource_version String COMMENT 'all of the kind up to this version is in the catalog',
    at               DateTime64(6, 'UTC') COMMENT 'when the watch was there'
)
ENGINE = ReplacingMergeTree(at)
ORDER BY (cluster, instance, kind)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'How far each kind has been written. Read with FINAL.';

CREATE TABLE IF NOT EXISTS catalog_rejects
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    at         DateTime64(6, 'UTC') COMMENT 'when ClickHouse refused it' CODEC(Delta, ZSTD(1)),
    table_name LowCardinality(String) COMMENT 'where the row was to go',
    row        String COMMENT 'the row, in JSON' CODEC(ZSTD(1)),
    error      String COMMENT 'what ClickHouse said of it' CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (cluster, at)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'Rows that ClickHouse refused for what is in them.';
