-- Finds the uses that use-hours.sql shows: those of the longest time. It adds them up by a hash, because there are
-- millions. Two of them have the same hash with a chance of 1 in 10 million; then one of them seems to take longer.
-- claim_hash is 0 for a use that is only in the rollups: the report reads no mounts of it.
WITH
toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')}) AS began_micros,
least(toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}), {now_micros:Int64}) AS ended_micros,
{{template "windows.sql" "rolled"}}
{{template "use_times.sql" .}},
{{template "use_rolled.sql" .}}
SELECT use_hash, max(claim) AS claim_hash
FROM
(
    SELECT use_hash, claim_hash AS claim, greatest(0, ended - greatest(began, reached)) AS micros
    FROM pieces
    UNION ALL
    SELECT use_hash, 0, use_seconds * 1000000
    FROM rolled_uses AS o
    WHERE {{template "use_chosen.sql"}}
)
GROUP BY use_hash
ORDER BY intDiv(sum(micros), 1000000) DESC, use_hash
LIMIT {limit:UInt64}
