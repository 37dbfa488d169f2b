-- How far back the report mounts has to read for {limit} rows: when the last of them can have started, and when the oldest of the pods that
-- mounted something since then was created. The report is right for each earlier moment, too. It looks for a hundred rows more, because
-- with --running those that end before the report reads them are missing.
-- recent is a guess that makes it fast: when the pods of twice as many mounts were created. If so many mounts of pods since then are chosen,
-- the last row is among these or later; else all of the history is read.
WITH
{{template "its_namespaces.sql" ""}},
{{template "of_class.sql"}},
(
    SELECT min(pod_created_at)
    FROM
    (
        SELECT pod_created_at
        FROM mounts
        WHERE {{template "chosen_mounts.sql"}}
        ORDER BY pod_created_at DESC
        LIMIT {limit:UInt64} * 2 + 100
    )
) AS recent,
(
    SELECT if(count() >= {limit:UInt64} + 100, min(started_at), toDateTime64(0, 6, 'UTC'))
    FROM
    (
        SELECT started_at
        FROM mounts FINAL
        WHERE pod_created_at >= recent AND {{template "chosen_mounts.sql"}}
        ORDER BY started_at DESC
        LIMIT {limit:UInt64} + 100
    )
) AS earliest
SELECT earliest, min(pod_created_at) AS oldest
FROM mounts
WHERE started_at >= earliest AND {{template "chosen_mounts.sql"}}
