-- +goose NO TRANSACTION
-- +goose Up
-- A backing store as volumes name it. The id is a hash of kind and attributes,
-- so every volume on the same export, LUN or directory shares the row.
CREATE TABLE IF NOT EXISTS volume_sources
(
    cluster    LowCardinality(String) COMMENT 'name of the cluster, or the UID of its kube-system namespace',
    id         String COMMENT 'hash of kind and attributes; source_id of volumes and mounts' CODEC(ZSTD(1)),
    kind       LowCardinality(String) COMMENT 'the field name in the API: nfs, iscsi, csi, hostPath, emptyDir, ...',
    driver     LowCardinality(String) COMMENT 'of csi and flexVolume, else empty',
    server     LowCardinality(String) COMMENT 'where the store is: host, portal, monitors; empty if it does not say',
    path       String COMMENT 'what of it: export, LUN, handle, directory; empty if it does not say' CODEC(ZSTD(1)),
    attributes Map(LowCardinality(String), String) COMMENT 'every field of the source, flattened with dots; no secret references' CODEC(ZSTD(1)),
    version    UInt64 COMMENT 'the row with the highest version is the present one: read with FINAL'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, id)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'One row per backing store. Read with FINAL.';
