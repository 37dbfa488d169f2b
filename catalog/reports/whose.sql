{{- /* Included by other reports, over mounts: selects those that match --owner, --group and --workload. Owner and
groups come from the pod, else from its claim, unless namespaces.sql has found that each pod has its own. */ -}}
true
{{- if given "owner"}}
      AND (owner = {owner:String}
{{- if not (given "all_owned")}}
           OR owner = '' AND {{key "cluster, claim_uid"}} IN (SELECT uid_key FROM claims FINAL WHERE owner = {owner:String})
{{- end}})
{{- end}}
{{- if given "group"}}
      AND (has(groups, {group:String})
{{- if not (given "all_owned")}}
           OR empty(groups) AND {{key "cluster, claim_uid"}} IN (SELECT uid_key FROM claims FINAL WHERE has(groups, {group:String}))
{{- end}})
{{- end}}
{{- if given "workload"}}
      AND {{template "of_workload.sql"}}
{{- end}}
