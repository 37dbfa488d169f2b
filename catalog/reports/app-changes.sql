-- How the set of applications on a volume changed: which workload came or went when, and which ones it had afterwards.
-- A workload whose pods were away for less than {min_absence} counts as present: otherwise a Deployment that replaces its pods would
-- leave and come back. The report computes the set over the whole history, and shows the changes in the window.
WITH
{{template "uses.sql" "ever"}},
-- A use begins a stay if all earlier uses ended at least {min_absence} before.
stays AS
(
    SELECT cluster, volume_uid, persistentvolume, namespace, workload,
        min(began) AS came_at, max(reached) AS went, if(went = toDateTime64('2299-12-31 23:59:59', 6, 'UTC'), NULL, went) AS went_at,
        tupleElement(max((reached, ended_not_before)), 2) AS went_not_before
    FROM
    (
        SELECT *, sum(toUInt64(began > before + toIntervalSecond({min_absence:Int64}))) OVER
            (PARTITION BY cluster, volume_uid, namespace, workload ORDER BY began, reached ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS stay
        FROM
        (
            SELECT cluster, volume_uid, persistentvolume, namespace, workload, started_at AS began, ended_not_before,
                coalesce(ended_at, toDateTime64('2299-12-31 23:59:59', 6, 'UTC')) AS reached,
                max(reached) OVER (PARTITION BY cluster, volume_uid, namespace, workload ORDER BY began, reached ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM uses
        )
    )
    GROUP BY cluster, volume_uid, persistentvolume, namespace, workload, stay
),
steps AS
(
    SELECT cluster, volume_uid, persistentvolume, came_at AS at, CAST(NULL, 'Nullable(DateTime64(6, \'UTC\'))') AS not_before, 'came' AS change, namespace, workload FROM stays
    UNION ALL
    SELECT cluster, volume_uid, persistentvolume, assumeNotNull(went_at), if(went_not_before = went_at, NULL, went_not_before), 'went', namespace, workload FROM stays WHERE went_at IS NOT NULL
)
SELECT
    s.cluster AS cluster,
    s.persistentvolume AS persistentvolume,
    s.at AS at,
    s.not_before AS at_not_before,
    s.change AS change,
    s.namespace AS namespace,
    s.workload AS workload,
    arraySort(groupUniqArrayIf(t.workload, t.came_at <= s.at AND t.went > s.at)) AS apps
FROM (SELECT * FROM steps WHERE at >= {since:DateTime64(6, 'UTC')} AND at <= {until:DateTime64(6, 'UTC')}) AS s
INNER JOIN stays AS t ON t.cluster = s.cluster AND t.volume_uid = s.volume_uid
GROUP BY s.cluster, s.volume_uid, s.persistentvolume, s.at, s.not_before, s.change, s.namespace, s.workload
ORDER BY at, cluster, persistentvolume, s.volume_uid, change DESC, namespace, workload
LIMIT {limit:UInt64}
