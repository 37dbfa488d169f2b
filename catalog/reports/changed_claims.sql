-- The claims and quarters that the sums of mounts_quarterly are not right for: a mount has changed since, or was not in use in the window, or had not started by the moment, or its pod is in two
-- rows. The parameters are those of quarters.sql. The other statements of the report get it as a table changed.
SELECT DISTINCT cluster, namespace, claim_name, toYYYYMM(quarter) AS quarter_number -- not the date, which the Go client reads in the time zone of the server
FROM
(
    SELECT toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, toStartOfQuarter(pod_created_at) AS quarter
    FROM mounts
    WHERE {{template "changed_mounts.sql"}}
      AND {{template "changed_of.sql" .}}
    UNION ALL
    SELECT toString(cluster), toString(namespace), claim_name, quarter
    FROM mounts_quarterly FINAL
    WHERE {{template "summed_rows.sql"}}
      -- Few sums are such: the indexes leave the others out, and that of apart, if it is compared with a number.
{{- if eq . "window"}}
      AND (apart = 0 OR last_started_at > {until:DateTime64(6, 'UTC')} OR first_ended_at <= {since:DateTime64(6, 'UTC')})
{{- else}}
      AND last_started_at > {until:DateTime64(6, 'UTC')}
{{- end}}
      AND {{template "changed_of.sql" .}}
)
