-- +goose NO TRANSACTION
-- +goose Up
-- A container of a pod that mounts storage.
CREATE TABLE IF NOT EXISTS containers
(
    cluster     LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    pod_uid     String COMMENT 'UID of its pod',
    name        LowCardinality(String) COMMENT 'its name in the pod',
    kind        LowCardinality(String) COMMENT 'init, sidecar, main or ephemeral',
    image       LowCardinality(String) COMMENT 'the image as the pod names it',
    command     LowCardinality(String) COMMENT 'first word of its command, never the arguments',
    started_at  Nullable(DateTime64(6, 'UTC')) COMMENT 'its first start; NULL before' CODEC(Delta, ZSTD(1)),
    finished_at Nullable(DateTime64(6, 'UTC')) COMMENT 'its last end; NULL while it runs or will be restarted' CODEC(Delta, ZSTD(1)),
    restarts    Int32 COMMENT 'how often it was restarted' CODEC(T64, ZSTD(1)),
    version     UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, pod_uid, name)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per container of the pods. Read with FINAL.';
