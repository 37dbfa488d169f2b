{{- /* Included by other reports, over mounts: those that --owner, --group and --workload choose. Owner and groups are those of the pod, else those of its claim. */ -}}
({owner:String} = '' OR owner = {owner:String}
           OR owner = '' AND ({{hashes "cluster, claim_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM claims FINAL WHERE {owner:String} != '' AND owner = {owner:String}))
      AND ({group:String} = '' OR has(groups, {group:String})
           OR empty(groups) AND ({{hashes "cluster, claim_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM claims FINAL WHERE {group:String} != '' AND has(groups, {group:String})))
      AND ({workload:String} = '' OR {{template "of_workload.sql"}})
