{{- /* Included by space_parts.sql: the mounts that are in the window, from the creation of their pods on. */ -}}
claim_uid != ''
              AND ({cluster:String} = '' OR cluster = {cluster:String})
              AND ({namespace:String} = '' OR namespace = {namespace:String})
              AND ({{template "unfiltered.sql"}} OR (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}))
              AND {{template "in_edges.sql"}}
              AND (ended_at IS NULL OR ended_at > pod_created_at)
