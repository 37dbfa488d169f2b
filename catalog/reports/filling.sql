-- In how many days a volume is full, of bytes or of files, if it goes on as in the window: a line is fitted by least squares.
-- A row of usage is written only on a change, and its values hold until the next row. A fit through the rows alone would overlook
-- that nothing happened for a week. So the line is fitted to the step function itself, over all of its time: with the moments
-- as seconds from the middle of the time of length L, the slope is 12/L³ times the integral of moment × value, and a step
-- from a to b adds value × (b² - a²)/2. The row before the window is valid at its beginning; where there is none, the
-- time begins with the first row. The last row is valid until the end of the window.
-- Each table that needs FINAL has it. A row of usage that is written twice is a step that takes no time.
-- Full is when no byte can be written any more: available_bytes leaves out what the file system reserves.
WITH
{{template "claims_of_workload.sql"}}
least({until:DateTime64(6, 'UTC')}, {now:DateTime64(6, 'UTC')}) AS until_at,
toUnixTimestamp64Micro(until_at) AS until_micros,
toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')}) AS since_micros,
picked AS
(
    SELECT uid_key, claim_key, name, storage_class, {{template "named_claim.sql"}}
    FROM volumes FINAL
    WHERE (deleted_at IS NULL OR deleted_at > until_at){{filter "cluster"}}
      AND {{template "volume_filter.sql"}}
),
{{if given "namespace" "owner" "group" "storageclass" "workload"}}
(SELECT groupArray(uid_key) FROM picked) AS volume_keys,
{{end}}
-- The measurements of each volume: since when each is valid, in microseconds, its used bytes and its files.
samples AS
(
    SELECT
        cluster, volume_uid,
        arraySort(if(before.1 = 0, inside, arrayPushFront(inside, (since_micros, before.2, before.3)))) AS list,
        last
    FROM
    (
        SELECT
            cluster, volume_uid,
            argMaxIf((toUInt8(1), used_bytes, inodes_used), at, at <= fromUnixTimestamp64Micro(since_micros, 'UTC')) AS before,
            groupArrayIf((toUnixTimestamp64Micro(at), used_bytes, inodes_used), at > fromUnixTimestamp64Micro(since_micros, 'UTC')) AS inside,
            argMax((used_bytes, capacity_bytes, available_bytes, inodes_used, inodes), at) AS last
        FROM usage
        WHERE at <= until_at{{filter "cluster"}}
{{- if given "namespace" "owner" "group" "storageclass" "workload"}}
          AND {{template "namespaces_of_volumes.sql" "volume_keys"}}
{{- end}}
        GROUP BY cluster, volume_uid
    )
),
-- When each step begins and ends, in seconds from the middle of the time.
steps AS
(
    SELECT
        cluster, volume_uid, list, last, fitted_seconds,
        arrayMap(micros -> (micros - middle_micros) / 1e6, list.1) AS begins,
        arrayPushBack(arrayPopFront(begins), (until_micros - middle_micros) / 1e6) AS ends
    FROM
    (
        SELECT *, (list[1].1 + until_micros) / 2 AS middle_micros, intDiv(until_micros - list[1].1, 1000000) AS fitted_seconds FROM samples
    )
    WHERE fitted_seconds > 0
),
fitted AS
(
    SELECT
        cluster, volume_uid, fitted_seconds,
        last.1 AS used_bytes, last.2 AS capacity_bytes, last.3 AS available_bytes, last.4 AS inodes_used, last.5 AS inodes,
        86400 * 12 / pow(fitted_seconds, 3) * arraySum((value, a, b) -> value * (b * b - a * a) / 2, list.2, begins, ends) AS bytes_slope,
        86400 * 12 / pow(fitted_seconds, 3) * arraySum((value, a, b) -> value * (b * b - a * a) / 2, list.3, begins, ends) AS inodes_slope,
        arrayExists(value -> value != list[1].2, list.2) AS bytes_changed,
        arrayExists(value -> value != list[1].3, list.3) AS inodes_changed
    FROM steps
)
SELECT
    f.cluster AS cluster,
    v.name AS persistentvolume,
    {{template "claim_or_named.sql" "v"}},
    v.storage_class AS storage_class,
    f.runs_out AS runs_out,
    round(f.days, 1) AS days_left,
    if(f.days > 36500, NULL, addSeconds(until_at, toInt64(least(f.days, 36500) * 86400))) AS full_at,
    if(f.bytes_grow, toInt64(round(f.bytes_slope)), NULL) AS growth_per_day_bytes,
    f.used_bytes AS used_bytes,
    f.capacity_bytes AS capacity_bytes,
    if(f.inodes_grow, round(f.inodes_slope, 1), NULL) AS growth_per_day_inodes,
    f.inodes_used AS inodes_used,
    f.inodes AS inodes,
    f.fitted_seconds AS fitted_seconds
FROM
(
    SELECT *, round(greatest(0, if(runs_out = 'bytes', toFloat64(available_bytes), toFloat64(inodes - inodes_used))) / if(runs_out = 'bytes', bytes_slope, inodes_slope), 4) AS days -- to nine seconds
    FROM
    (
        SELECT
            *,
            bytes_changed AND bytes_slope > 0 AS bytes_grow,
            inodes_changed AND inodes_slope > 0 AND inodes > 0 AS inodes_grow,
            -- what runs out first
            if(bytes_grow AND (NOT inodes_grow OR available_bytes / bytes_slope <= (inodes - inodes_used) / inodes_slope), 'bytes', 'inodes') AS runs_out
        FROM fitted
        WHERE bytes_grow OR inodes_grow
    )
) AS f
INNER JOIN (SELECT uid_key, claim_key, name, storage_class, claim_namespace, claim_name FROM picked) AS v ON v.uid_key = {{key "f.cluster, f.volume_uid"}}
LEFT JOIN (SELECT uid_key, namespace, name FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}) AS c ON c.uid_key = v.claim_key
WHERE f.days * 86400 <= {within:Int64}
ORDER BY f.days, cluster, persistentvolume, f.volume_uid
LIMIT {limit:UInt64}
