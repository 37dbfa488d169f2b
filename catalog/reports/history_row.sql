{{- /* Included by history-found.sql: the columns that distinguish the rows of a claim. */ -}}
cityHash64(owner, groups, claim_uid, volume_uid, source_kind, source_id)
