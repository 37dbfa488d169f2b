{{- /* Included by uses_chosen.sql and chosen_mounts.sql, behind its_volumes.sql: selects the mounts of the volumes that {volume} names. A mount that was written
before its volume was known gets the volume of its claim. */ -}}
{{if given "volume"}}({{template "of_its_volumes.sql" "cluster, volume_uid"}} OR volume_uid = '' AND (cluster, claim_uid) IN
           (SELECT cluster, uid FROM claims FINAL WHERE {{template "of_its_volumes.sql" "cluster, volume_uid"}})){{else}}true{{end}}
