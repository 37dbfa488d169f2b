{{- /* Included by uses_chosen.sql, behind its_namespaces.sql: the claims and quarters that the sums of mounts_quarterly are not right for: a mount has changed since, or was not in
use in the window, or its pod is in two rows. The parameters are those of quarters.sql. */ -}}
(
    SELECT groupUniqArray((cluster, namespace, claim_name, quarter))
    FROM
    (
        SELECT toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, toStartOfQuarter(pod_created_at) AS quarter
        FROM mounts
        WHERE {{template "changed_mounts.sql"}}
          AND {{template "uses_of.sql" .}}
        UNION ALL
        SELECT toString(cluster), toString(namespace), claim_name, quarter
        FROM mounts_quarterly FINAL
        WHERE {{template "summed_rows.sql"}} AND (NOT apart OR last_started_at > {until:DateTime64(6, 'UTC')} OR first_ended_at <= {since:DateTime64(6, 'UTC')})
          AND {{template "uses_of.sql" .}}
    )
) AS changed,
