{{- /* Included by history.sql and history_latest.sql: the columns that distinguish the rows of a claim, over mounts. row_hash
of mounts_quarterly is computed in the same way. */ -}}
cityHash64(owner, groups, claim_uid, volume_uid, source_kind, source_id)
