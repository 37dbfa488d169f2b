{{- /* Included by chosen_mounts.sql, counts.sql and diff_mounts.sql, behind its_namespaces.sql: the mounts that --owner, --group, --storageclass and
--workload choose. */ -}}
({owner:String} = '' AND {group:String} = '' OR (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n)))
      AND {{template "whose.sql"}}
      AND {{template "mount_class.sql"}}