{{- /* Included by uses_chosen.sql and chosen_mounts.sql, behind its_volumes.sql: selects the mounts of the volumes that {volume} names. A mount that was written
before its volume was known gets the volume of its claim. */ -}}
{{if given "volume"}}((cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)) OR volume_uid = '' AND (cluster, claim_uid) IN
           (SELECT cluster, uid FROM claims FINAL WHERE (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))){{else}}true{{end}}
