-- +goose NO TRANSACTION
-- +goose Up
-- A claim had a volume, over an interval.
CREATE TABLE IF NOT EXISTS bindings
(
    cluster             LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    claim_uid           String COMMENT 'UID of the claim',
    volume_uid          String COMMENT 'UID of the volume' CODEC(ZSTD(1)),
    bound_at            Nullable(DateTime64(6, 'UTC')) COMMENT 'when the claim got the volume' CODEC(Delta, ZSTD(1)),
    released_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest the claim can have lost it; NULL while it has it' CODEC(Delta, ZSTD(1)),
    released_not_before Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest; equal to released_at when that is exact' CODEC(Delta, ZSTD(1)),
    version             UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL',
    INDEX by_volume     volume_uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, claim_uid, volume_uid)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per claim and volume it had. Read with FINAL.';
