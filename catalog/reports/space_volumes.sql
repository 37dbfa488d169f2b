{{- /* Included by space_parts.sql: the volumes that a chosen claim has or had. */ -}}
SELECT cluster, volume_uid FROM bindings WHERE (cluster, claim_uid) IN ({{template "space_claims.sql"}})
          UNION ALL SELECT cluster, uid FROM volumes FINAL WHERE claim_namespace = {namespace:String} AND claim_namespace != ''
