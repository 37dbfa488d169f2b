{{- /* Included by uses_chosen.sql, mounts.sql and use_created.sql: two arrays, the volumes that {volume} names, and the names of the claims that
these have or had, by which of_its_claims.sql finds rows; nothing without --volume. */ -}}
{{if given "volume"}}
(SELECT groupUniqArray((cluster, uid)) FROM ({{template "named_volumes.sql"}})) AS its_volumes,
(
    SELECT groupUniqArray((cluster, namespace, name))
    FROM
    (
        SELECT cluster, namespace, claim_name AS name FROM bindings WHERE {{template "of_its_volumes.sql" "cluster, volume_uid"}}
        UNION ALL
        SELECT cluster, namespace, name FROM claims FINAL WHERE {{template "of_its_volumes.sql" "cluster, volume_uid"}}
        UNION ALL
        SELECT cluster, claim_namespace, claim_name FROM volumes
        WHERE {{template "of_its_volumes.sql" "cluster, uid"}} AND claim_name != ''
    )
) AS its_claims,
{{end}}
