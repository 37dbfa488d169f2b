{{- /* Included by uses_chosen.sql, mounts.sql, mounts-first.sql, counts.sql, diff.sql, lifetimes.sql and
use_created.sql: the array its_namespaces, of the pods and claims of --owner and --group; nothing
without these flags. With "at", it has the namespaces of all claims that the volumes in volume_keys ever had. */ -}}
{{if given "owner" "group"}}
(
    SELECT groupUniqArray((cluster, namespace))
    FROM
    (
{{- if eq . "at"}}
        {{template "claim_namespaces.sql" "volume_keys"}}
{{- else}}
        {{template "namespaces_of_owner.sql"}}
{{- end}}
    )
) AS its_namespaces,
{{end}}
