{{- /* Included by use-hours.sql and use_times.sql: the columns that distinguish uses. */ -}}
o.cluster, o.namespace, o.claim_name, o.claim_uid, o.volume_uid, o.workload_kind, o.workload_name, o.owner, o.groups
