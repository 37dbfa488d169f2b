{{- /* Included by idle-moment.sql and idle-found.sql, behind idle_watched.sql: the steps from unused volumes to
with_idle, which has the idle volumes and since when they are idle. */ -}}
{{if given "namespace" "owner" "group"}}
-- The volumes of the selected claims.
{{template "chosen_volumes.sql"}}
{{template "volume_namespaces.sql"}}
{{end}}
-- The pods that existed and had not started a main container, and the claims that they mount, each with the volume of the mount, or 0.
waiting AS
(
    SELECT cluster, namespace, pod_created_at, pod_uid
    FROM containers FINAL
    WHERE kind = 'main'
      AND (cluster, namespace, pod_created_at, pod_uid) IN
          (
              SELECT cluster, namespace, pod_created_at, pod_uid FROM containers
              WHERE pod_created_at <= moment AND kind = 'main' AND (started_at IS NULL OR started_at > moment)
                AND {{template "in_volume_namespaces.sql"}}
          )
      AND (cluster, namespace, pod_created_at, pod_uid) NOT IN
          (
              SELECT cluster, namespace, created_at, uid FROM pods FINAL
              WHERE (deleted_at <= moment OR finished_at <= moment) AND (cluster, namespace, created_at, uid) IN
                  (
                      SELECT cluster, namespace, pod_created_at, pod_uid FROM containers
                      WHERE pod_created_at <= moment AND kind = 'main' AND started_at IS NULL
                        AND {{template "in_volume_namespaces.sql"}}
                  )
          )
    GROUP BY cluster, namespace, pod_created_at, pod_uid
    HAVING countIf(started_at <= moment) = 0
),
awaited AS
(
    SELECT if(volume_uid != '', {{key "cluster, volume_uid"}}, 0) AS volume, {{key "cluster, claim_uid"}} AS claim
    FROM mounts FINAL
    WHERE (cluster, namespace, claim_name, pod_created_at, pod_uid) IN
          (
              SELECT cluster, namespace, claim_name, pod_created_at, pod_uid FROM mounts
              WHERE claim_name != '' AND (cluster, namespace, pod_created_at, pod_uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM waiting)
          )
),
-- The uses by the moment: how many last, and when the last of the others ended. This may read all mounts, so it groups them by one key
-- before any join: the volume, or the claim where a mount was written before its volume was known.
mounted AS
(
    SELECT
        used_key,
        countIf(ended_at IS NULL OR ended_at > moment) AS running,
        maxIf(toUnixTimestamp64Micro(assumeNotNull(ended_at)), ended_at <= moment) AS last
    FROM
    (
        SELECT {{key "cluster, if(volume_uid != '', volume_uid, claim_uid)"}} AS used_key, ended_at
        FROM mounts FINAL
        WHERE claim_name != '' AND pod_created_at <= moment AND started_at <= moment
          AND {{template "in_volume_namespaces.sql"}}
{{- if quarters .}}
          AND {{template "outside_quarters.sql" "pod_created_at"}}
{{- range changedParts}}
        UNION ALL
        SELECT {{key "cluster, if(volume_uid != '', volume_uid, claim_uid)"}}, ended_at
        FROM mounts FINAL
        PREWHERE {{template "in_changed.sql" (print $ " " .)}}
        WHERE claim_name != '' AND started_at <= moment
          AND {{template "in_volume_namespaces.sql"}}
{{- end}}
        UNION ALL
        -- All mounts of such a sum had started by the moment. So a sum that had not ended by then is in use.
        SELECT if(volume_key != 0, volume_key, claim_key), last_ended_at
        FROM mounts_quarterly FINAL
        WHERE claim_name != ''
          AND {{template "in_volume_namespaces.sql"}}
          AND {{template "in_quarters.sql"}}
{{- end}}
    )
    GROUP BY used_key
),
conditions AS
(
    SELECT
        b.volume_key AS key,
        arraySort(groupArray((
            c.unused_micros,
            c.span_micros,
            if(arrayMin(b.bindings) > c.unused_micros, arrayMin(b.bindings), arrayMax(arrayFilter(bound -> bound <= c.unused_micros, b.bindings))),
            b.claim_key,
            multiIf(
                NOT c.has_claim, 0,
                c.next BETWEEN 1 AND moment_micros, c.next,
                NOT c.has_next AND NOT c.is_deleted OR c.is_watched, c.last,
                0),
            c.has_claim))) AS list
    FROM
    (
        SELECT volume_key, claim_key, groupArray(ifNull(toUnixTimestamp64Micro(bound_at), 0)) AS bindings
        FROM bindings FINAL {{template "prewhere_volumes.sql" "volume_key"}}
        WHERE (bound_at IS NULL OR bound_at <= moment)
          AND {{template "in_volume_namespaces.sql"}}
        GROUP BY volume_key, claim_key
    ) AS b
    INNER JOIN
    (
        SELECT
            c.*,
            -- The span that has the time; 0 if none has it.
            if(c.unused_micros <= w.ended_micros OR w.goes_on, w.started_micros, toInt64(0)) AS span_micros,
            c.claim NOT IN (SELECT uid_key FROM claims FINAL WHERE deleted_at <= moment AND {{template "in_volume_namespaces.sql"}}) AS has_claim,
            c.claim IN (SELECT uid_key FROM claims FINAL WHERE deleted_at IS NOT NULL AND {{template "in_volume_namespaces.sql"}}) AS is_deleted,
            c.cluster IN (
                SELECT cluster FROM coverage FINAL
                WHERE kind = 'PersistentVolumeClaim' AND started_at <= moment AND coalesce(ended_at, seen_at) >= moment) AS is_watched
        FROM
        (
            SELECT
                any(cluster) AS cluster, claim_key AS claim,
                argMaxIf(micros, observed_at, observed_at <= moment) AS last,
                argMinIf(micros, observed_at, observed_at > moment) AS next,
                countIf(observed_at > moment) > 0 AS has_next,
                maxIf(micros, micros BETWEEN 1 AND moment_micros) AS latest_micros,
                arrayJoin(groupUniqArrayIf(micros, micros BETWEEN 1 AND moment_micros)) AS unused_micros
            FROM
            (
                -- micros is since when no pod used the claim, and 0 if one did. A version without the condition has no row, so what the version
                -- before it said goes on.
                SELECT cluster, claim_key, observed_at, ifNull(toUnixTimestamp64Micro(unused_since), 0) AS micros
                FROM unused_conditions FINAL
                WHERE {{template "in_volume_namespaces.sql"}}
            )
            GROUP BY claim
        ) AS c
        ASOF LEFT JOIN spans AS w ON w.watched_cluster = c.cluster AND c.unused_micros >= w.started_micros
        -- with_use takes no time in a span, unless the span had just begun; and of each claim it needs the latest one.
        WHERE span_micros = 0 OR unused_micros <= span_micros + 10000000 OR unused_micros = latest_micros
    ) AS c ON c.claim = b.claim_key
    GROUP BY key
),
-- The bindings of each volume by the moment. A binding whose beginning is not known counts as the first, if its claim existed.
bound AS
(
    SELECT
        key, countIf(began <= moment_micros) > 0 AS was_bound, maxIf(began, began <= moment_micros) AS bound_micros,
        argMaxIf(claim, place, began <= moment_micros) AS bound_claim,
        argMaxIf(released, place, began <= moment_micros) > moment_micros AS lasts
    FROM
    (
        SELECT
            volume_key AS key, claim_key AS claim,
            multiIf(bound_at IS NOT NULL, assumeNotNull(toUnixTimestamp64Micro(bound_at)), {{template "claim_came_after.sql" "until"}}, 9223372036854775807, 0) AS began,
            ifNull(toUnixTimestamp64Micro(released_at), 9223372036854775807) AS released, bitShiftLeft(toUInt128(began), 32) + toUInt128(ordinal) AS place
        FROM bindings FINAL {{template "prewhere_volumes.sql" "volume_key"}}
        WHERE {{template "in_volume_namespaces.sql"}}
    )
    GROUP BY key
),
-- The uses by volume: those by claim are moved to the volume of the claim.
mounted_volumes AS
(
    SELECT if(c.volume != 0, c.volume, m.used_key) AS key, max(m.last) AS mounted_micros, sum(m.running) AS running
    FROM mounted AS m
    LEFT JOIN
    (
        SELECT uid_key AS claim, volume_key AS volume
        FROM claims FINAL
        WHERE volume_uid != ''
          AND {{template "in_volume_namespaces.sql"}}
    ) AS c ON c.claim = m.used_key
    GROUP BY key
),
-- The phase before the first change after the moment. Of changes in the same second, the one from Bound comes first,
-- then the one from Released.
phases AS
(
    SELECT {{key "cluster, uid"}} AS key, argMin(phase, (changed_at, indexOf(['Bound', 'Released', phase], phase))) AS phase_before
    FROM
    (
        -- Two trackers can have dated the same change differently.
        SELECT cluster, uid, splitByString(' → ', details)[1] AS phase, min(at) AS changed_at
        FROM changes FINAL
        PREWHERE action IN ('phase', 'released') -- action is in the sorting key: ClickHouse reads only the rows that match in full
        WHERE kind = 'PersistentVolume' AND namespace = ''{{filter "cluster"}}
{{- if given "namespace" "owner" "group"}}
          AND {{listed (key "cluster, uid") "volume_keys"}}
{{- end}}
        GROUP BY cluster, uid, details, resource_version
        HAVING changed_at > moment
    )
    GROUP BY key
),
-- All that is known of each volume that no container used. ClickHouse replaces a name by its expression wherever the
-- name is used, and so on: such an expression soon takes it a second to analyse. So each step from here on is a query
-- of its own.
known AS
(
    SELECT
        v.key AS key, v.by_namespace AS by_namespace, v.created_micros AS created_micros, v.phase_micros AS phase_micros, v.unseen_micros AS unseen_micros,
        v.phase_now AS phase_now, v.present_claim AS present_claim,
        b.key != 0 AS is_known, b.was_bound AS was_bound, b.bound_claim AS bound_claim, b.lasts AS lasts, b.bound_micros AS bound_micros,
        p.phase_before AS phase_before, s.idle_micros_now AS idle_micros_now, s.status_now AS status_now,
        m.mounted_micros AS mounted_micros, u.last_micros AS last_micros, c.list AS listed
    FROM
    (
        SELECT
            uid_key AS key, claim_key AS present_claim, claim_namespace = {namespace:String} AS by_namespace,
            ifNull(toUnixTimestamp64Micro(created_at), 0) AS created_micros, ifNull(toUnixTimestamp64Micro(phase_changed_at), 0) AS phase_micros,
            if(ifNull(unseen_use_at <= moment, 0), assumeNotNull(toUnixTimestamp64Micro(unseen_use_at)), 0) AS unseen_micros, toString(phase) AS phase_now
        FROM volumes FINAL {{template "prewhere_volumes.sql" "uid_key"}}
        WHERE {{template "existed.sql"}}{{filter "cluster" "storage_class"}}
    ) AS v
    LEFT JOIN bound AS b ON b.key = v.key
    LEFT JOIN mounted_volumes AS m ON m.key = v.key
    LEFT JOIN phases AS p ON p.key = v.key
    LEFT JOIN
    (
        SELECT volume_key AS key, assumeNotNull(toUnixTimestamp64Micro(idle_since)) AS idle_micros_now, toString(status) AS status_now
        FROM volume_states FINAL {{template "prewhere_volumes.sql" "volume_key"}}
        WHERE idle_since <= moment{{filter "cluster"}}
    ) AS s ON s.key = v.key
    LEFT JOIN
    (
        SELECT volume_key AS key, assumeNotNull(toUnixTimestamp64Micro(last_ended_at)) AS last_micros
        FROM volume_uses FINAL {{template "prewhere_volumes.sql" "volume_key"}}
        WHERE NOT in_use AND last_ended_at <= moment{{filter "cluster"}}
    ) AS u ON u.key = v.key
    LEFT JOIN conditions AS c ON c.key = v.key
    WHERE running = 0 AND (was_bound OR NOT is_known)
),
joined AS
(
    SELECT *, if(is_known AND phase = 'Bound' AND NOT lasts, 'Released', phase) AS phase_then
    FROM
    (
        SELECT
            *,
            greatest(mounted_micros, last_micros) AS used_micros,
            if(is_known, bound_claim, present_claim) AS claim_key,
            -- The changes may have expired. Then nobody knows when a volume that was released became available.
            multiIf(was_bound AND lasts, 'Bound', phase_before != '', phase_before, phase_micros <= moment_micros, phase_now, was_bound, 'Released', '') AS phase
        FROM known
    )
    WHERE phase_then IN ('Bound', 'Released')
{{- if given "namespace" "owner" "group"}}
       AND {{if given "owner" "group"}}claim_key IN (SELECT uid_key FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}})
            {{- else}}(by_namespace AND claim_key = present_claim OR claim_key IN (SELECT claim_key FROM bindings WHERE namespace = {namespace:String})){{end}}
{{- end}}
       -- A pod can wait for a claim that gets the volume only after the moment.
       AND NOT arrayExists(volume -> (volume, claim_key) IN awaited, [key, 0])
),
{{- /* By rule 5.5 of collector/inventory. */}}
-- Since when a volume was idle: since its last use, or since a use that only the
-- condition Unused shows, else since it was bound. The limits of 10 s and 1 s allow for controllers that write their
-- times late, and for times without fractions of a second.
with_use AS
(
    SELECT
        *,
        if(known_micros = 0, greatest(created_micros, bound_micros), known_micros) AS base_micros,
        arrayLast(c -> c.6 AND c.4 = claim_key, listed) AS latest
    FROM
    (
        SELECT
            * EXCEPT listed,
            arraySort(joined.listed) AS listed,
            arrayFold(
                (known, c) -> if(
                    c.1 > if(known = 0, greatest(c.3, created_micros), known) + 10000000
                        AND NOT (c.2 != 0 AND (c.2 <= if(known = 0, greatest(c.3, created_micros), known) + 999999 OR c.1 > c.2 + 10000000)),
                    c.1, known),
                listed,
                if(unseen_micros > used_micros + 10000000, unseen_micros, used_micros)) AS known_micros
        FROM joined
    )
),
with_idle AS
(
    SELECT *, if(idle_micros = 0, 0, greatest(0, intDiv(moment_micros - idle_micros, 1000000))) AS seconds
    FROM
    (
        SELECT
            *,
            multiIf(
                latest.1 > base_micros AND NOT (latest.2 != 0 AND (latest.2 <= base_micros + 999999 OR latest.1 > latest.2 + 10000000)), greatest(latest.1, idle_micros_now),
                idle_micros_now != 0, idle_micros_now,
                base_micros) AS idle_micros,
            multiIf(phase_then = 'Released', 'released', status_now IN ('idle', 'never_mounted'), status_now, known_micros != 0, 'idle', 'never_mounted') AS status
        FROM with_use
    )
    WHERE seconds >= {min_idle:Int64}
)
