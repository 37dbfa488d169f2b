-- +goose NO TRANSACTION
-- +goose Up
-- A pod that mounts storage.
CREATE TABLE IF NOT EXISTS pods
(
    cluster            LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    uid                String COMMENT 'UID of the Pod',
    namespace          LowCardinality(String) COMMENT 'metadata.namespace',
    name               String COMMENT 'metadata.name' CODEC(ZSTD(1)),
    node               LowCardinality(String) COMMENT 'the node it runs or ran on',
    service_account    LowCardinality(String) COMMENT 'spec.serviceAccountName',
    owner              LowCardinality(String) COMMENT 'whose pod it is; empty if nobody is known',
    groups             Array(LowCardinality(String)) COMMENT 'the groups that this owner belongs to',
    workload_kind      LowCardinality(String) COMMENT 'kind of the workload that made it: Deployment, StatefulSet, CronJob, ...',
    workload_name      LowCardinality(String) COMMENT 'name of that workload',
    workload_uid       String COMMENT 'UID of that workload' CODEC(ZSTD(1)),
    phase              LowCardinality(String) COMMENT 'Pending, Running, Succeeded, Failed or Unknown',
    reason             LowCardinality(String) COMMENT 'status.reason: Evicted, NodeLost, ...',
    labels             Map(LowCardinality(String), String) COMMENT 'metadata.labels' CODEC(ZSTD(1)),
    created_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'creationTimestamp' CODEC(Delta, ZSTD(1)),
    started_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'first start of any of its containers; NULL before' CODEC(Delta, ZSTD(1)),
    finished_at        Nullable(DateTime64(6, 'UTC')) COMMENT 'last end of its containers; NULL until all have ended' CODEC(Delta, ZSTD(1)),
    deleted_at         Nullable(DateTime64(6, 'UTC')) COMMENT 'the latest it can have been deleted; NULL while it exists' CODEC(Delta, ZSTD(1)),
    deleted_not_before Nullable(DateTime64(6, 'UTC')) COMMENT 'the earliest it can have been deleted; equal to deleted_at when that is exact' CODEC(Delta, ZSTD(1)),
    version            UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL',
    INDEX by_uid       uid TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, namespace, uid)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per pod that mounts storage, also of those deleted since. Read with FINAL.';
