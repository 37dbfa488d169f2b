{{- /* Included by idle.sql: whether the volume with a UID may be of a claim in {namespace}. */ -}}
({namespace:String} = '' OR (cluster, {{.}}) IN (SELECT cluster, uid FROM volumes WHERE claim_namespace = {namespace:String}))
