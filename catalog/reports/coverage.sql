-- When some tracker of the cluster watched pods, and when none did. A span that lasts has no end; a span that no tracker
-- confirmed for five minutes has ended.
WITH watched AS
(
{{template "watched.sql"}}
),
spans AS
(
    SELECT
        cluster, started_micros, ended_micros,
        leadInFrame(toNullable(started_micros)) OVER (PARTITION BY cluster ORDER BY started_micros ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS next_micros,
        goes_on AND ended_micros >= {now_micros:Int64} - 300000000 AS lasts
    FROM watched
)
SELECT
    cluster,
    state,
    fromUnixTimestamp64Micro(began, 'UTC') AS started_at,
    if(ended IS NULL, NULL, fromUnixTimestamp64Micro(assumeNotNull(ended), 'UTC')) AS ended_at,
    greatest(0, intDiv(coalesce(ended, {now_micros:Int64}) - began, 1000000)) AS lasted_seconds
FROM
(
    SELECT cluster, 'watched' AS state, started_micros AS began, if(lasts, NULL, ended_micros) AS ended FROM spans
    UNION ALL
    SELECT cluster, 'unwatched', ended_micros, next_micros FROM spans WHERE NOT lasts
)
WHERE true{{filter "cluster"}}
  AND started_at <= {until:DateTime64(6, 'UTC')}
  AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
ORDER BY cluster, started_at
LIMIT {limit:UInt64}
