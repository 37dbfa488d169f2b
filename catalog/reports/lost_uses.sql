{{- /* Included by orphans.sql and never-mounted.sql, behind lost_volumes.sql. Selects the claims that have lost a volume which was used
while they had it: when that use ended (last_ended_at), and whether pods still use the volume (in_use). It knows the last use of each
volume only. That counts for the claim that had the volume last, also if it ended after the claim had lost the volume; for another
claim only if it ended while that claim had the volume. */ -}}
SELECT lost.1 AS claim_key, max(u.last_ended_at) AS last_ended_at, max(u.in_use) AS in_use
            FROM (SELECT arrayJoin(lost_volumes) AS lost) AS l
            INNER JOIN
            (
                SELECT volume_key, in_use, last_ended_at FROM volume_uses FINAL
                PREWHERE volume_key IN (SELECT lost.2 FROM (SELECT arrayJoin(lost_volumes) AS lost))
            ) AS u ON u.volume_key = lost.2
            WHERE if((lost.2, lost.1) IN (SELECT had.1, had.2 FROM (SELECT arrayJoin(last_claims) AS had)),
                u.in_use OR u.last_ended_at IS NOT NULL AND (lost.3 IS NULL OR u.last_ended_at >= lost.3),
                ifNull(u.last_ended_at <= lost.4 AND (lost.3 IS NULL OR u.last_ended_at >= lost.3), false))
            GROUP BY claim_key
