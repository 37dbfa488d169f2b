-- +goose NO TRANSACTION
-- +goose Up
-- A claim can be bound to the same volume more than once, and a volume go through the
-- same phases more than once in a second.
ALTER TABLE bindings
    ADD COLUMN IF NOT EXISTS ordinal UInt16 COMMENT '0 for the first binding of this claim and volume, 1 for the next one, ...' AFTER volume_uid,
    MODIFY ORDER BY (cluster, claim_uid, volume_uid, ordinal);

ALTER TABLE changes
    ADD COLUMN IF NOT EXISTS resource_version String COMMENT 'the version of the object in which a change of its state was seen; empty for what the object tells the time of' CODEC(ZSTD(1)),
    MODIFY ORDER BY (cluster, at, kind, uid, action, details, namespace, name, actor, resource_version);
