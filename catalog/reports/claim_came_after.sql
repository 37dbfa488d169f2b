{{- /* Included by bound_by.sql, idle_candidates.sql and stays_then.sql, over bindings without a known beginning, with the name of a parameter: selects
those of claims that were created after that moment. */ -}}
(claim_key IN (SELECT uid_key FROM claims PREWHERE uid_key IN (SELECT claim_key FROM bindings WHERE bound_at IS NULL) WHERE created_at > {{printf "{%s:DateTime64(6, 'UTC')}" .}}))
