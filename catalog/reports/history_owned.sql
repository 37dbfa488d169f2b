{{- /* Included by history-wide.sql: what a mount or sum s says, with its claim c. Owner and groups are those of the pod, else those of its claim. A mount that was written before its volume was known
has the volume of its claim. */ -}}
s.cluster AS cluster, s.namespace AS namespace, s.claim_uid AS claim_uid, s.claim_name AS claim, s.source_kind AS source, s.source_id AS source_id,
        if(s.owner != '', s.owner, c.owner) AS owner, if(notEmpty(s.groups), s.groups, c.groups) AS groups, if(s.volume_uid != '', s.volume_uid, c.volume_uid) AS volume_uid,
        c.storage_class AS claim_class
