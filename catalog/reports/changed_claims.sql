-- The claims and quarters whose sums in mounts_quarterly do not fit the window or moment: a mount was written after the
-- quarter was summed up, started after the window, or ended before it, or two rows count the same pod. The report reads
-- the mounts of these claims instead. The report's next statement gets these rows as the table changed.
{{- /* The parameters come from quarters.go. A quarter is a number, because the Go client reads a date in the time zone of the server. */}}
SELECT DISTINCT cluster, namespace, claim_name, toYYYYMM(quarter) AS quarter_number
FROM
(
    SELECT toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, toStartOfQuarter(pod_created_at) AS quarter
    FROM mounts
    WHERE pod_created_at >= {quarters_begin:DateTime64(6, 'UTC')} AND pod_created_at < {quarters_end:DateTime64(6, 'UTC')}
      AND version > {least_version:UInt64} AND version > {summed_versions:Map(UInt64, UInt64)}[cityHash64(cluster)]
      AND {{template "changed_of.sql" .}}
    UNION ALL
    -- A cluster without coverage is never summed up.
    SELECT toString(cluster), toString(namespace), claim_name, toStartOfQuarter(pod_created_at)
    FROM mounts
    WHERE pod_created_at >= {quarters_begin:DateTime64(6, 'UTC')} AND pod_created_at < {quarters_end:DateTime64(6, 'UTC')}
      AND cluster NOT IN (SELECT cluster FROM coverage)
      AND {{template "changed_of.sql" .}}
    UNION ALL
    SELECT toString(cluster), toString(namespace), claim_name, quarter
    FROM mounts_quarterly -- without FINAL, replaced rows count, too: the report then reads the mounts of their claims, which say the same
    WHERE {{template "summed_rows.sql"}}
      -- Few rows match, and minmax indexes skip the others. ClickHouse uses the index of apart only where apart is compared with a number.
{{- if eq . "window"}}
      AND (apart = 0 OR last_started_at > {until:DateTime64(6, 'UTC')} OR first_ended_at <= {since:DateTime64(6, 'UTC')})
{{- else}}
      AND last_started_at > {until:DateTime64(6, 'UTC')}
{{- end}}
      AND {{template "changed_of.sql" .}}
)
