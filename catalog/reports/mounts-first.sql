-- How far back the report mounts has to read for {limit} rows: when the last of them can have started, and when the oldest of the pods that
-- mounted something since then was created. The report is right for each earlier moment, too. It looks for a hundred rows more, because
-- with --running those that end before the report reads them are missing.
-- Only the mounts of pods that were created at {from} or later are looked at. If so many of these are chosen, the last row is among them or later;
-- else there is no answer, and the question has to be asked with an earlier {from}. If there is none with the earliest, everything has to be read.
-- found says whether there are enough, and when the last of them started.
WITH
{{template "its_namespaces.sql" ""}}
{{template "of_class.sql"}}
(
    SELECT (count() >= {limit:UInt64} + 100, min(started_at))
    FROM
    (
        SELECT started_at
        FROM mounts FINAL
        WHERE pod_created_at >= {from:DateTime64(6, 'UTC')} AND {{template "chosen_mounts.sql"}}
        ORDER BY started_at DESC
        LIMIT {limit:UInt64} + 100
    )
) AS found,
found.2 AS earliest
SELECT earliest, min(pod_created_at) AS oldest
FROM mounts
WHERE found.1 AND started_at >= earliest AND {{template "chosen_mounts.sql"}}
  -- No use ends before it starts: by the index of ends this leaves out the granules in which all was over by then.
  AND (ended_at IS NULL OR ended_at >= earliest)
HAVING found.1
