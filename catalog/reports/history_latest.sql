{{- /* Included by history.sql and history-found.sql, behind uses_chosen.sql: the array claims_found of the claims, and
the backing stores that pods name themselves, whose rows the report can show: those with the latest uses. Millions of
them are compared here, so each is a hash, and the place of a row in the report is a number: its end, or the greatest
number if it still lasts, and then its begin.
A claim has several rows if its owner or its volume changed. The places of its rows lie between least and most. Two
claims with the same hash count as one claim with several rows, so both are found. A claim that was written before
its volume or owner was known seems to have several rows as well, and is found if any of them is late enough. */ -}}
{{template "of_class.sql"}}
(
    SELECT arrayFilter((c, m) -> m >= enough, claims, mosts)
    FROM
    (
        SELECT groupArray(claim) AS claims, groupArray(most) AS mosts, arrayPartialReverseSort({limit:UInt64}, groupArray(least))[{limit:UInt64}] AS enough -- at least {limit} rows have this place or an earlier one
        FROM
        (
            SELECT
                claim, bitShiftLeft(toUInt128(max(until)), 64) AS ends, ends + min(first_since) AS least, ends + if(min(least_row) = max(most_row), min(first_since), max(last_since)) AS most
            FROM
            (
                SELECT
                    {{template "history_claim.sql"}} AS claim,
                    max(if(ended_at IS NULL, 9223372036854775807, toUnixTimestamp64Micro(ended_at))) AS until,
                    min(toUnixTimestamp64Micro(started_at)) AS first_since, max(toUnixTimestamp64Micro(started_at)) AS last_since,
                    min({{template "history_row.sql"}}) AS least_row, max({{template "history_row.sql"}}) AS most_row
                FROM chosen
                WHERE {{template "mount_class.sql"}}
                GROUP BY claim
{{- if quarters .}}
                UNION ALL
                SELECT
                    place_hash AS claim,
                    max(if(last_ended_at IS NULL, 9223372036854775807, toUnixTimestamp64Micro(last_ended_at))) AS until,
                    min(toUnixTimestamp64Micro(first_started_at)) AS first_since, max(toUnixTimestamp64Micro(last_started_at)) AS last_since,
                    min(row_hash) AS least_row, max(row_hash) AS most_row
                FROM ({{template "summed_mounts.sql" .}})
                WHERE {{template "mount_class.sql"}}
                GROUP BY claim
{{- end}}
            )
            GROUP BY claim
        )
    )
) AS claims_found,
