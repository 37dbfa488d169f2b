{{- /* Included by other reports: the namespaces in which the pods and claims of --owner or --group are or were. None without these flags. */ -}}
SELECT cluster, namespace FROM owner_namespaces WHERE {owner:String} != '' AND owner = {owner:String} OR {group:String} != '' AND has(groups, {group:String})
