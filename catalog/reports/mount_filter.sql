{{- /* Included by mounts.sql, mounts-first.sql and counts.sql, which begin with its_namespaces.sql: the mounts that --owner, --group, --storageclass and
--workload choose, with the meaning that uses.sql has. The class is that of the volume, else that of the claim. */ -}}
({owner:String} = '' AND {group:String} = '' OR (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n)))
      AND {{template "whose.sql"}}
      AND ({storageclass:String} = ''
           OR (cluster, namespace, claim_name, claim_uid) IN
              (SELECT cluster, namespace, name, uid FROM claims FINAL
               WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM volumes FINAL WHERE storage_class = {storageclass:String})
                  OR storage_class = {storageclass:String}
                 AND (cluster, volume_uid) NOT IN (SELECT cluster, uid FROM volumes FINAL WHERE storage_class NOT IN ('', {storageclass:String}))))
