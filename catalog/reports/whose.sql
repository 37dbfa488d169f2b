{{- /* Included by other reports, over mounts: those that --owner, --group and --workload choose. Owner and groups are those of the pod, else those of its claim. */ -}}
true
{{- if given "owner"}}
      AND (owner = {owner:String}
           OR owner = '' AND {{key "cluster, claim_uid"}} IN (SELECT uid_key FROM claims FINAL WHERE owner = {owner:String}))
{{- end}}
{{- if given "group"}}
      AND (has(groups, {group:String})
           OR empty(groups) AND {{key "cluster, claim_uid"}} IN (SELECT uid_key FROM claims FINAL WHERE has(groups, {group:String})))
{{- end}}
{{- if given "workload"}}
      AND {{template "of_workload.sql"}}
{{- end}}
