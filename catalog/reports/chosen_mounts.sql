{{template "in_window.sql"}}
      AND (NOT {running:Bool} OR ended_at IS NULL)
      AND (NOT {ended:Bool} OR ended_at IS NOT NULL)
{{- if given "volume"}}
      AND (cluster, namespace, claim_name) IN ({{template "claims_of_volumes.sql"}})
      AND (cluster, volume_uid) IN (SELECT cluster, uid FROM volumes FINAL WHERE name = {volume:String} OR uid = {volume:String})
{{- end}}
      AND {{template "mount_filter.sql"}}
