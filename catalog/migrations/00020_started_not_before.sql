-- +goose NO TRANSACTION
-- +goose Up
-- A container may have run before the first start that its status still tells of.
ALTER TABLE mounts
    ADD COLUMN IF NOT EXISTS started_not_before DateTime64(6, 'UTC') DEFAULT started_at COMMENT 'the earliest it can have started; equal to started_at when that is exact' CODEC(Delta, ZSTD(1)) AFTER started_at,
    COMMENT COLUMN started_at 'first start of the container; the latest it can have been';
