{{- /* Included by chosen_mounts.sql, counts.sql and diff_mounts.sql, behind its_namespaces.sql and of_class.sql: the mounts that --cluster, --namespace, --owner,
--group, --storageclass and --workload choose. */ -}}
{{template "uses_of.sql"}}
      AND {{template "whose.sql"}}
      AND {{template "mount_class.sql"}}
