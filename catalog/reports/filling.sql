-- In how many days a volume is full, of bytes or of files, if it goes on as in the window: a line is fitted by least squares.
-- A row of usage is written only on a change, and its values hold until the next row. A fit through the rows alone would overlook
-- that nothing happened for a week. So the line is fitted to the step function itself, over all of its time: with the moments
-- as seconds from the middle of the time of length L, the slope is 12/L³ times the integral of moment × value, and a step
-- from a to b adds value × (b² - a²)/2. The row before the window is valid at its beginning; where there is none, the
-- time begins with the first row. The last row is valid until the end of the window.
-- Full is when no byte can be written any more: available_bytes leaves out what the file system reserves.
WITH
least({until:DateTime64(6, 'UTC')}, {now:DateTime64(6, 'UTC')}) AS until_at,
chosen AS
(
    SELECT cluster, uid, name, storage_class, claim_uid
    FROM volumes
    WHERE (deleted_at IS NULL OR deleted_at > until_at)
      AND {{template "volume_filter.sql"}}
),
steps AS
(
    SELECT
        cluster, volume_uid, at,
        greatest(toUnixTimestamp64Micro(at), toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')})) AS from_micros,
        leadInFrame(toUnixTimestamp64Micro(at), 1, toUnixTimestamp64Micro(until_at)) OVER
            (PARTITION BY cluster, volume_uid ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS to_micros,
        used_bytes, inodes_used, capacity_bytes, available_bytes, inodes
    FROM usage
    WHERE at <= until_at
      AND ({cluster:String} = '' OR cluster = {cluster:String})
      AND (concat({namespace:String}, {owner:String}, {group:String}, {storageclass:String}, {workload:String}) = ''
           OR (cluster, volume_uid) IN (SELECT cluster, uid FROM chosen))
),
measured AS
(
    SELECT
        *,
        min(from_micros) OVER (PARTITION BY cluster, volume_uid) AS first_micros,
        (first_micros + toUnixTimestamp64Micro(until_at)) / 2 AS middle_micros,
        (from_micros - middle_micros) / 1e6 AS a,
        (to_micros - middle_micros) / 1e6 AS b
    FROM steps
    WHERE to_micros >= from_micros
),
fitted AS
(
    SELECT
        cluster, volume_uid,
        intDiv(toUnixTimestamp64Micro(until_at) - any(first_micros), 1000000) AS fitted_seconds,
        argMax(used_bytes, at) AS used_bytes,
        argMax(capacity_bytes, at) AS capacity_bytes,
        argMax(available_bytes, at) AS available_bytes,
        argMax(inodes_used, at) AS inodes_used,
        argMax(inodes, at) AS inodes,
        86400 * 12 / pow(fitted_seconds, 3) * sum(measured.used_bytes * (b * b - a * a) / 2) AS bytes_slope,
        86400 * 12 / pow(fitted_seconds, 3) * sum(measured.inodes_used * (b * b - a * a) / 2) AS inodes_slope,
        min(measured.used_bytes) != max(measured.used_bytes) AS bytes_changed,
        min(measured.inodes_used) != max(measured.inodes_used) AS inodes_changed
    FROM measured
    GROUP BY cluster, volume_uid
    HAVING fitted_seconds > 0
)
SELECT
    f.cluster AS cluster,
    v.name AS persistentvolume,
    c.namespace AS namespace,
    c.name AS claim,
    v.storage_class AS storage_class,
    f.runs_out AS runs_out,
    round(greatest(0, f.room) / f.slope, 1) AS days_left,
    if(days_left > 36500, NULL, addSeconds(until_at, toInt64(least(days_left, 36500) * 86400))) AS full_at,
    if(f.bytes_grow, toInt64(round(f.bytes_slope)), NULL) AS growth_per_day_bytes,
    f.used_bytes AS used_bytes,
    f.capacity_bytes AS capacity_bytes,
    if(f.inodes_grow, round(f.inodes_slope, 1), NULL) AS growth_per_day_inodes,
    f.inodes_used AS inodes_used,
    f.inodes AS inodes,
    f.fitted_seconds AS fitted_seconds
FROM
(
    SELECT
        *,
        bytes_changed AND bytes_slope > 0 AS bytes_grow,
        inodes_changed AND inodes_slope > 0 AND inodes > 0 AS inodes_grow,
        -- what runs out first
        if(bytes_grow AND (NOT inodes_grow OR available_bytes / bytes_slope <= (inodes - inodes_used) / inodes_slope), 'bytes', 'inodes') AS runs_out,
        if(runs_out = 'bytes', toFloat64(available_bytes), toFloat64(inodes - inodes_used)) AS room,
        if(runs_out = 'bytes', bytes_slope, inodes_slope) AS slope
    FROM fitted
    WHERE bytes_grow OR inodes_grow
) AS f
INNER JOIN chosen AS v ON v.cluster = f.cluster AND v.uid = f.volume_uid
LEFT JOIN (SELECT cluster, uid, namespace, name FROM claims) AS c ON c.cluster = v.cluster AND c.uid = v.claim_uid
WHERE days_left * 86400 <= {within:Int64}
ORDER BY days_left, cluster, persistentvolume, f.volume_uid
LIMIT {limit:UInt64}
