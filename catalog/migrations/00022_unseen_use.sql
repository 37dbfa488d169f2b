-- +goose NO TRANSACTION
-- +goose Up
-- The condition Unused of a claim changes with the next pod, also with one that never starts. What it
-- showed of a use that nobody observed stays a fact of the volume.
ALTER TABLE volumes
    ADD COLUMN IF NOT EXISTS unseen_use_at Nullable(DateTime64(6, 'UTC')) COMMENT 'end of the last use that nobody observed, and that a condition Unused of its claim showed which has changed since' CODEC(Delta, ZSTD(1)) AFTER phase_changed_at;
