-- Which months are complete, as the tracker says it.
SELECT DISTINCT cluster, month, 1 AS version FROM use_seconds_monthly
