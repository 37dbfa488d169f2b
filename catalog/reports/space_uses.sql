{{- /* Included by space_parts.sql: the mounts of the chosen claims. */ -}}
({cluster:String} = '' OR cluster = {cluster:String})
              AND ({namespace:String} = '' OR namespace = {namespace:String})
              AND ({{template "unfiltered.sql"}} OR (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}))
