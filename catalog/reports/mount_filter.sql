{{- /* Included by chosen_mounts.sql, counts.sql and diff.sql, behind of_class.sql:
selects the mounts that match --cluster, --namespace, --owner, --group, --storageclass and --workload. */ -}}
{{template "in_namespaces.sql"}}
      AND {{template "whose.sql"}}
      AND {{template "mount_class.sql"}}
