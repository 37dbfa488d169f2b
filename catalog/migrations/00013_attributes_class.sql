-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE volumes
    ADD COLUMN IF NOT EXISTS attributes_class LowCardinality(String) COMMENT 'VolumeAttributesClass that it has; empty for none' AFTER storage_class;

ALTER TABLE claims
    ADD COLUMN IF NOT EXISTS attributes_class LowCardinality(String) COMMENT 'VolumeAttributesClass that is asked for; empty for none' AFTER data_source_name,
    ADD COLUMN IF NOT EXISTS current_attributes_class LowCardinality(String) COMMENT 'VolumeAttributesClass that its volume has; empty for none' AFTER attributes_class,
    ADD COLUMN IF NOT EXISTS conditions Array(LowCardinality(String)) COMMENT 'conditions that are true (FileSystemResizePending, ModifyingVolume, ...), and how far a resize is' AFTER current_attributes_class,
    ADD COLUMN IF NOT EXISTS selected_node LowCardinality(String) COMMENT 'the node that the scheduler chose, where binding waits for the first pod' AFTER conditions;

ALTER TABLE mounts
    ADD COLUMN IF NOT EXISTS recursive_read_only Bool COMMENT 'the mounts below it are read-only as well' AFTER read_only;
