{{- /* Included by mounts.sql and mounts_nearby.sql, behind its_volumes.sql, and by mounts-first.sql, which is not asked with --volume:
selects the mounts of the report. */ -}}
{{template "in_window.sql"}}
      AND (NOT {running:Bool} OR ended_at IS NULL)
      AND (NOT {ended:Bool} OR ended_at IS NOT NULL)
      AND {{template "of_its_claims.sql" "claim_name"}}
      AND {{template "uses_of_volume.sql"}}
      AND {{template "mount_filter.sql"}}
