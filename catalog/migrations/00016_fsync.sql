-- +goose NO TRANSACTION
-- +goose Up
-- What is acknowledged leaves the journal, so it must be on disk by then, not in the
-- memory of a machine that may lose its power.
ALTER TABLE storage_classes MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE volume_sources MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE volumes MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE claims MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE pods MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE containers MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE bindings MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE mounts MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE changes MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE namespaces MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE attachments MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE storage_capacity MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE objects MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE coverage MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE checkpoints MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;

ALTER TABLE catalog_rejects MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1;
