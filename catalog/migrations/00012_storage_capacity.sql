-- +goose NO TRANSACTION
-- +goose Up
-- Samples of CSIStorageCapacity, one whenever a driver said something new. The key
-- is object and moment, so that writing a sample again changes nothing.
CREATE TABLE IF NOT EXISTS storage_capacity
(
    cluster              LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    at                   DateTime64(6, 'UTC') COMMENT 'when the driver was seen to say so' CODEC(Delta, ZSTD(1)),
    uid                  String COMMENT 'UID of the CSIStorageCapacity' CODEC(ZSTD(1)),
    storage_class        LowCardinality(String) COMMENT 'the class whose volumes it is about',
    driver               LowCardinality(String) COMMENT 'the provisioner of the class',
    topology             String COMMENT 'selector of the nodes that can reach it; empty for none' CODEC(ZSTD(1)),
    capacity_bytes       Int64 COMMENT 'what can still be provisioned, in bytes' CODEC(ZSTD(1)),
    maximum_volume_bytes Int64 COMMENT 'the largest volume that can be, in bytes; 0 where the driver does not say' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, storage_class, topology, uid, at)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'How much storage classes could still provision, over time. Read with FINAL.';
