{{- /* Included by other reports: the namespaces in which pods and claims of --owner or --group are or were. One of
these flags has to be given. */ -}}
SELECT cluster, namespace FROM owner_namespaces WHERE {{if given "owner"}}owner = {owner:String}{{if given "group"}} OR {{end}}{{end}}{{if given "group"}}has(groups, {group:String}){{end}}
