{{- /* Included by use-hours.sql and use-hours-found.sql: the selected rows of use_seconds_daily and use_seconds_monthly
in the window. It comes behind began_micros and ended_micros, the window, windows.sql, and what use_created.sql has before created. */ -}}
-- The whole months of the window that use_seconds_monthly has of each cluster. A done month has a row without a claim.
-- A month does not count while its days are not done.
(
    SELECT groupUniqArray((toString(cluster), month)) FROM use_seconds_monthly
    WHERE namespace = '' AND claim_name = '' AND claim_uid = ''{{filter "cluster"}}
      AND month >= first_day_of_rollup AND toLastDayOfMonth(month) <= last_day_of_rollup AND {{template "use_done.sql" "toLastDayOfMonth(month)"}}
) AS its_months,
-- Months are summed up in order, so all days between months_begin and months_end are in these months, and the index of
-- use_seconds_daily skips them. Of a cluster without such a month, the report reads all days. If no cluster has one, months_begin is
-- the last day that a Date can be: all days are before it.
if(empty(its_months), toDate(65535), arrayMax(c -> arrayMin(arrayMap(m -> m.2, arrayFilter(m -> m.1 = c, its_months))), arrayDistinct(its_months.1))) AS months_begin,
arrayMin((c, r) -> if(has(its_months.1, c), toLastDayOfMonth(arrayMax(arrayMap(m -> m.2, arrayFilter(m -> m.1 = c, its_months)))), toDate(intDiv(r.1, 86400000000)) - 1),
    mapKeys(rolled), mapValues(rolled)) AS months_end,
-- A cluster and a month as one number, the hash of the name plus the first day of the month: to compare these takes a third of
-- the time. The hashes of two clusters differ by so few days with a chance of less than 1 in 10 ** 15.
arrayMap(m -> cityHash64(m.1) + toUInt64(m.2), its_months) AS month_numbers,
-- A pod counts on the day of its first use. On the first day of a window that begins at midnight, all pods of that day count.
rolled_uses AS
(
    SELECT
        cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, use_hash,
        if(toInt64(day) * 86400000000 = began_micros, pods, new_pods) AS counted_pods, use_seconds, day AS first, day AS last
    FROM use_seconds_daily FINAL {{template "prewhere_use_found.sql" .}}
    WHERE day BETWEEN first_day_of_rollup AND last_day_of_rollup AND (day < months_begin OR day > months_end)
      AND {{template "use_done.sql" "day"}}
      AND NOT {{listed "cityHash64(cluster) + toUInt64(toStartOfMonth(day))" "month_numbers"}}
      AND use_seconds + pods != 0 AND {{template "use_rolled_filter.sql" .}}
    UNION ALL
    SELECT
        cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, use_hash,
        if(toInt64(month) * 86400000000 = began_micros, pods, new_pods), use_seconds, first_day, last_day
    FROM use_seconds_monthly FINAL {{template "prewhere_use_found.sql" .}}
    WHERE month BETWEEN arrayMin(its_months.2) AND arrayMax(its_months.2) -- finds the partitions; none if there are no such months
      AND {{listed "cityHash64(cluster) + toUInt64(month)" "month_numbers"}}
      AND use_seconds + pods != 0 AND {{template "use_rolled_filter.sql" .}}
)
