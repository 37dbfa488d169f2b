-- How the set of applications on a volume changed: which workload came or went when, and which ones it had afterwards.
-- A workload whose pods were away for less than {min_absence} counts as present: otherwise a Deployment that replaces its pods would
-- leave and come back. The report computes the set over the whole history, and shows the changes in the window: those of stays of
-- which a use matches the flags.
WITH
{{template "uses.sql" "ever"}},
-- A use begins a stay if all earlier uses ended at least {min_absence} before.
stays AS
(
    SELECT cluster, volume_uid, persistentvolume, namespace, workload,
        min(began) AS came_at, min(started_not_before) AS came_not_before,
        max(reached) AS went, if(went = toDateTime64('2299-12-31 23:59:59', 6, 'UTC'), NULL, went) AS went_at, max(ended_not_before) AS went_not_before,
        max(is_chosen) AS is_chosen
    FROM
    (
        SELECT *, sum(toUInt64(began >= before + toIntervalMicrosecond(greatest(1, {min_absence:Int64} * 1000000)))) OVER
            (PARTITION BY cluster, volume_uid, namespace, workload ORDER BY began, reached ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS stay
        FROM
        (
            SELECT cluster, volume_uid, persistentvolume, namespace, workload, started_at AS began, started_not_before, ended_not_before,
                coalesce(ended_at, toDateTime64('2299-12-31 23:59:59', 6, 'UTC')) AS reached,
                max(reached) OVER (PARTITION BY cluster, volume_uid, namespace, workload ORDER BY began, reached ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
                (true{{filter "namespace" "owner" "groups"}}{{if given "workload"}} AND {{template "named_workload.sql" "workload"}}{{end}}) AS is_chosen
            FROM uses
        )
    )
    GROUP BY cluster, volume_uid, persistentvolume, namespace, workload, stay
),
-- All stays on a volume in one array, so that ClickHouse computes them once: of (namespace, workload, came_at, went, went_at,
-- went_not_before, is_chosen, came_not_before). shown has those whose changes the report shows.
volumes_stays AS
(
    SELECT cluster, volume_uid, persistentvolume, groupArray((toString(namespace), workload, came_at, went, went_at, went_not_before, is_chosen, came_not_before)) AS list,
        arrayFilter(x -> x.7, list) AS shown
    FROM stays
    GROUP BY cluster, volume_uid, persistentvolume
)
SELECT
    cluster,
    persistentvolume,
    step.1 AS at,
    step.2 AS at_not_before,
    step.3 AS change,
    step.4 AS namespace,
    step.5 AS workload,
    arraySort(arrayDistinct(arrayMap(x -> x.2, arrayFilter(x -> x.3 <= at AND x.4 > at, list)))) AS apps
FROM volumes_stays
ARRAY JOIN arrayConcat(
    arrayMap(x -> (x.3, nullIf(x.8, x.3), 'came', x.1, x.2, x.4 = x.3), shown),
    arrayMap(x -> (assumeNotNull(x.5), nullIf(x.6, x.5), 'went', x.1, x.2, x.4 = x.3), arrayFilter(x -> x.5 IS NOT NULL, shown))) AS step
WHERE at >= {since:DateTime64(6, 'UTC')} AND at <= {until:DateTime64(6, 'UTC')}
-- At one moment, workloads went before others came, but for one that came and went at that moment.
ORDER BY at, cluster, persistentvolume, volume_uid, change = 'went' AND step.6, change DESC, namespace, workload
LIMIT {limit:UInt64}
