-- +goose NO TRANSACTION
-- +goose Up
-- A bookmark says that a watch is as far as a version, and no more. Trackers get theirs at different
-- moments; so they compare how far they are by the last event.
ALTER TABLE checkpoints
    ADD COLUMN IF NOT EXISTS event_version String COMMENT 'the version of the last event or list; resource_version may be that of a later bookmark' AFTER resource_version;
