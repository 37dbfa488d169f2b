{{- /* Included by uses_chosen.sql, behind its_namespaces.sql: the claims and quarters that the sums of mounts_quarterly are not right for: a mount has changed since, or was not in
use in the window, or its pod is in two rows. The parameters are those of quarters.sql. */ -}}
(
    SELECT groupUniqArray((cluster, namespace, claim_name, quarter))
    FROM
    (
        SELECT toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, toStartOfQuarter(pod_created_at) AS quarter
        FROM mounts
        WHERE pod_created_at >= {quarters_begin:DateTime64(6, 'UTC')} AND pod_created_at < {quarters_end:DateTime64(6, 'UTC')}
          AND version > {least_version:UInt64} AND version > {summed_versions:Map(UInt64, UInt64)}[cityHash64(cluster)]
          AND {{template "uses_of.sql" .}}
        UNION ALL
        SELECT toString(cluster), toString(namespace), claim_name, quarter
        FROM mounts_quarterly FINAL
        WHERE quarter >= {quarters_begin:DateTime64(6, 'UTC')} AND quarter < {quarters_end:DateTime64(6, 'UTC')}
          AND pods != 0 AND (NOT apart OR last_started_at > {until:DateTime64(6, 'UTC')} OR first_ended_at <= {since:DateTime64(6, 'UTC')})
          AND {{template "uses_of.sql" .}}
    )
) AS changed,
