{{- /* Included by mounts.sql and counts.sql: the mounts that --owner, --group, --storageclass and --workload choose, with the meaning that
uses.sql has. Owner and groups are those of the pod, else those of its claim; the class is that of the volume, else that of the claim; a pod
without a controller is its own workload. Only the namespaces with such pods and claims are read. "near" is all that is in these
namespaces; "recent" knows that no pod is older than oldest. */ -}}
{{- $recent := ""}}{{if eq . "recent"}}{{$recent = "created_at >= oldest AND "}}{{end -}}
({owner:String} = ''
           OR (cluster, namespace) IN (SELECT cluster, namespace FROM pods WHERE {{$recent}}owner = {owner:String} UNION ALL SELECT cluster, namespace FROM claims WHERE owner = {owner:String})
{{- if ne . "near"}}
          AND (({{hashes "cluster, pod_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM pods WHERE {{$recent}}owner = {owner:String})
               OR ({{hashes "cluster, claim_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM claims WHERE owner = {owner:String})
              AND ({{hashes "cluster, pod_uid"}}) NOT IN
                  (SELECT {{hashes "cluster, uid"}} FROM pods
                   WHERE {{$recent}}owner NOT IN ('', {owner:String}) AND (cluster, namespace) IN (SELECT cluster, namespace FROM claims WHERE owner = {owner:String})))
{{- end}})
      AND ({group:String} = ''
           OR (cluster, namespace) IN (SELECT cluster, namespace FROM pods WHERE {{$recent}}has(groups, {group:String}) UNION ALL SELECT cluster, namespace FROM claims WHERE has(groups, {group:String}))
{{- if ne . "near"}}
          AND (({{hashes "cluster, pod_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM pods WHERE {{$recent}}has(groups, {group:String}))
               OR ({{hashes "cluster, claim_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM claims WHERE has(groups, {group:String}))
              AND ({{hashes "cluster, pod_uid"}}) NOT IN
                  (SELECT {{hashes "cluster, uid"}} FROM pods
                   WHERE {{$recent}}notEmpty(groups) AND NOT has(groups, {group:String})
                     AND (cluster, namespace) IN (SELECT cluster, namespace FROM claims WHERE has(groups, {group:String}))))
{{- end}})
      AND ({storageclass:String} = ''
           OR (cluster, namespace, claim_name, claim_uid) IN
              (SELECT cluster, namespace, name, uid FROM claims
               WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM volumes WHERE storage_class = {storageclass:String})
                  OR storage_class = {storageclass:String}
                 AND (cluster, volume_uid) NOT IN (SELECT cluster, uid FROM volumes WHERE storage_class NOT IN ('', {storageclass:String}))))
      AND ({workload:String} = ''
           OR {{template "of_workload.sql" .}})
