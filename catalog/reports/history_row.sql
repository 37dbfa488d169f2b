{{- /* Included by history-found.sql: what tells the rows of a claim apart. */ -}}
cityHash64(owner, groups, claim_uid, volume_uid, source_kind, source_id)
