{{- /* Included by chosen_mounts.sql, counts.sql and diff.sql, behind its_namespaces.sql and of_class.sql:
selects the mounts that match --cluster, --namespace, --owner, --group, --storageclass and --workload. */ -}}
{{template "uses_of.sql"}}
      AND {{template "whose.sql"}}
      AND {{template "mount_class.sql"}}
