-- Finds how far back the report mounts has to read for {limit} rows: the start of the last row, and the creation of the
-- oldest pod that mounted something since then. Earlier moments are right as well, only slower. It looks for a hundred
-- rows more, because with --running some can end before the report reads them.
-- It reads the mounts of pods that were created at {from} or later. If enough of them match, the last row of the report
-- is among them or later. Otherwise the answer is empty, and the program asks again with an earlier {from}; if the
-- earliest one has no answer, the report reads everything. found is whether enough mounts match, and when the last of
-- them started.
WITH
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
  -- A use ends after it starts, so this condition selects the same rows, and the index of ended_at skips the granules
  -- in which all uses were over by then.
  AND (ended_at IS NULL OR ended_at >= earliest)
HAVING found.1
