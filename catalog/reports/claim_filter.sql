{{- /* Included by other reports: the rows of c, which are claims or pods, that --namespace, --owner and --group choose. Those of an owner are in its namespaces,
which are found by the key. */ -}}
({namespace:String} = '' OR c.namespace = {namespace:String})
  AND ({owner:String} = '' OR c.owner = {owner:String})
  AND ({group:String} = '' OR has(c.groups, {group:String}))
  AND ({owner:String} = '' AND {group:String} = '' OR (c.cluster, c.namespace) IN
       ({{template "namespaces_of_owner.sql"}}))
