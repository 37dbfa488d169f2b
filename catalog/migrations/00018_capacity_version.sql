-- +goose NO TRANSACTION
-- +goose Up
-- Two trackers date a sample each by their own clock; by this they know it for the same.
ALTER TABLE storage_capacity
    ADD COLUMN IF NOT EXISTS resource_version String COMMENT 'the version of the CSIStorageCapacity that says so' CODEC(ZSTD(1));

ALTER TABLE changes
    COMMENT COLUMN resource_version 'the version in which a change of state was seen, or of the deletion, or of the list that lacked it; empty for what the object tells the time of';
