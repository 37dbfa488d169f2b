-- Included by other reports: the spans in which some tracker of the cluster watched pods, so that nothing
-- can have been missed. They do not overlap, and the last one goes on. Times are microseconds since 1970;
-- before_micros is for how long pods were watched before the span.
SELECT
    cluster,
    started_micros,
    ended_micros,
    ended_micros = max(ended_micros) OVER (PARTITION BY cluster) AS goes_on,
    sum(ended_micros - started_micros) OVER (PARTITION BY cluster ORDER BY started_micros ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        - (ended_micros - started_micros) AS before_micros
FROM
(
    SELECT cluster, toUnixTimestamp64Micro(min(began)) AS started_micros, toUnixTimestamp64Micro(max(ended)) AS ended_micros
    FROM
    (
        -- A row begins a span if all rows before it had ended by then.
        SELECT cluster, began, ended,
            sum(toUInt64(began > reached)) OVER (PARTITION BY cluster ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS span
        FROM
        (
            SELECT cluster, began, ended,
                max(ended) OVER (PARTITION BY cluster ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
            FROM (SELECT cluster, started_at AS began, greatest(started_at, coalesce(ended_at, seen_at)) AS ended FROM coverage FINAL WHERE kind = 'Pod')
        )
    )
    GROUP BY cluster, span
)
