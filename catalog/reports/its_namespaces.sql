{{- /* Included by uses_chosen.sql, mounts.sql, mounts-first.sql, counts.sql, diff.sql, lifetimes.sql and use_pieces.sql: the namespaces of the pods and claims that --owner and --group choose.
"at" has the namespaces of all claims of its volumes. There is no such list without these flags. */ -}}
{{if given "owner" "group"}}
(
    SELECT groupUniqArray((cluster, namespace))
    FROM
    (
{{- if eq . "at"}}
        SELECT cluster, namespace FROM claims
        WHERE uid_key IN
              (SELECT claim_key FROM bindings WHERE {{listed "volume_key" "volume_keys"}})
{{- else}}
        {{template "namespaces_of_owner.sql"}}
{{- end}}
    )
) AS its_namespaces,
{{end}}
