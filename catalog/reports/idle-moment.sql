-- The volumes that nobody used at a moment, as idle.sql has those of now. They were bound then, or released, by the rows of bindings
-- and by the phases and sizes in changes; what has not changed since is in volumes, claims and volume_states. The claim is the one
-- that a volume had then, or last before. Owner, groups, class and reclaim policy are those that are known last.
-- A use that ended while nobody watched counts until the latest moment at which it can have ended. A pod that had been created by then
-- and started later, or of which an init container had run, awaited its volume, which is not idle then. A pod that never started is
-- not in the mounts, so a volume that only such pods awaited is idle.
WITH
{until:DateTime64(6, 'UTC')} AS moment,
toUnixTimestamp64Micro(moment) AS moment_micros,
toFixedString('', 16) AS no_claim,
CAST([], 'Array(Tuple(Int64, Int64, Int64, FixedString(16), Int64, UInt8))') AS no_conditions,
spans AS
(
    SELECT cluster AS watched_cluster, started_micros, ended_micros, goes_on, before_micros, max(ended_micros) OVER (PARTITION BY cluster) AS last_ended_micros
    FROM
    (
{{template "watched.sql"}}
    )
),
watched AS
(
    SELECT watched_cluster, started_micros, least(ended_micros, moment_micros) AS ended_micros, before_micros, last_ended_micros
    FROM spans
    WHERE started_micros <= moment_micros
),
-- The pods that had been created and of which no main container had started, with the claims of their mounts.
waiting AS
(
    SELECT cluster, namespace, pod_created_at, pod_uid
    FROM containers FINAL
    WHERE kind = 'main'
      AND (cluster, namespace, pod_created_at, pod_uid) IN
          (
              SELECT cluster, namespace, pod_created_at, pod_uid FROM containers
              WHERE pod_created_at <= moment AND kind = 'main' AND (started_at IS NULL OR started_at > moment)
                AND ({cluster:String} = '' OR cluster = {cluster:String})
                AND ({namespace:String} = '' OR namespace = {namespace:String})
          )
      AND (cluster, namespace, pod_created_at, pod_uid) NOT IN
          (
              SELECT cluster, namespace, created_at, uid FROM pods FINAL
              WHERE (deleted_at <= moment OR finished_at <= moment) AND (cluster, namespace, created_at, uid) IN
                  (SELECT cluster, namespace, pod_created_at, pod_uid FROM containers WHERE pod_created_at <= moment AND kind = 'main' AND started_at IS NULL)
          )
    GROUP BY cluster, namespace, pod_created_at, pod_uid
    HAVING countIf(started_at <= moment) = 0
),
awaited AS
(
    SELECT cluster, claim_uid
    FROM mounts FINAL
    WHERE (cluster, namespace, claim_name, pod_created_at, pod_uid) IN
          (
              SELECT cluster, namespace, claim_name, pod_created_at, pod_uid FROM mounts
              WHERE claim_name != '' AND (cluster, namespace, pod_created_at, pod_uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM waiting)
          )
),
-- The claims that the flags choose, the volumes that these had, and the namespaces of all claims of these volumes. Where no flag chooses
-- claims, nothing is asked for.
(
    SELECT groupArray((cluster, uid)) FROM claims AS c FINAL
    WHERE ({namespace:String} != '' OR {owner:String} != '' OR {group:String} != '') AND {{template "claim_filter.sql"}}
) AS its_claims,
(
    SELECT groupUniqArray((cluster, volume_uid))
    FROM
    (
        SELECT cluster, volume_uid FROM bindings FINAL
        WHERE (cluster, claim_uid) IN (SELECT c.1, c.2 FROM (SELECT arrayJoin(its_claims) AS c))
        UNION ALL
        SELECT cluster, uid FROM volumes FINAL
        WHERE {namespace:String} != '' AND claim_namespace = {namespace:String}
    )
) AS its_volumes,
(
    SELECT groupUniqArray((cluster, namespace)) FROM claims FINAL
    WHERE ({namespace:String} != '' OR {owner:String} != '' OR {group:String} != '')
      AND ((cluster, uid) IN (SELECT cluster, claim_uid FROM bindings FINAL WHERE (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
           OR (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
) AS its_namespaces,
-- The uses by the moment: how many last, and the last end of the others. All mounts may be read, so they are summed up by one hash
-- before anything is joined. A mount that was written before its volume was known has its claim instead.
mounted AS
(
    SELECT
        sipHash128(cluster, if(volume_uid != '', volume_uid, claim_uid)) AS used_key,
        countIf(ended_at IS NULL OR ended_at > moment) AS running,
        maxIf(toUnixTimestamp64Micro(assumeNotNull(ended_at)), ended_at <= moment) AS last
    FROM mounts FINAL
    WHERE claim_name != '' AND pod_created_at <= moment AND started_at <= moment
      AND ({cluster:String} = '' OR cluster = {cluster:String})
      AND ({namespace:String} = '' AND {owner:String} = '' AND {group:String} = '' OR (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n)))
    GROUP BY used_key
),
conditions AS
(
    SELECT
        sipHash128(b.cluster, b.volume_uid) AS key,
        arraySort(groupArray((
            c.unused_micros,
            if(c.span_micros != 0 AND (c.unused_micros <= c.ended_micros OR c.goes_on), c.span_micros, toInt64(0)),
            if(arrayMin(b.bindings) > c.unused_micros, arrayMin(b.bindings), arrayMax(arrayFilter(bound -> bound <= c.unused_micros, b.bindings))),
            sipHash128(b.cluster, b.claim_uid),
            multiIf(
                NOT c.has_claim, 0,
                c.next BETWEEN 1 AND moment_micros, c.next,
                NOT c.has_next AND NOT c.is_deleted OR c.is_watched, c.last,
                0),
            c.has_claim))) AS list
    FROM
    (
        SELECT cluster, volume_uid, claim_uid, groupArray(ifNull(toUnixTimestamp64Micro(bound_at), 0)) AS bindings
        FROM bindings FINAL
        WHERE bound_at IS NULL OR bound_at <= moment
        GROUP BY cluster, volume_uid, claim_uid
    ) AS b
    INNER JOIN
    (
        SELECT c.*, w.started_micros AS span_micros, w.ended_micros AS ended_micros, w.goes_on AS goes_on,
            (c.cluster, c.uid) NOT IN (SELECT cluster, uid FROM claims FINAL WHERE deleted_at <= moment) AS has_claim,
            (c.cluster, c.uid) IN (SELECT cluster, uid FROM claims FINAL WHERE deleted_at IS NOT NULL) AS is_deleted,
            c.cluster IN (
                SELECT cluster FROM coverage FINAL
                WHERE kind = 'PersistentVolumeClaim' AND started_at <= moment AND coalesce(ended_at, seen_at) >= moment) AS is_watched
        FROM
        (
            SELECT
                cluster, uid,
                argMaxIf(micros, observed_at, observed_at <= moment) AS last,
                argMinIf(micros, observed_at, observed_at > moment) AS next,
                countIf(observed_at > moment) > 0 AS has_next,
                arrayJoin(groupUniqArrayIf(micros, micros BETWEEN 1 AND moment_micros)) AS unused_micros
            FROM
            (
                SELECT
                    cluster, uid, observed_at,
                    arrayFirst(c -> c.1 = 'Unused', JSONExtract(object, 'status', 'conditions', 'Array(Tuple(type String, status String, lastTransitionTime String))')) AS condition,
                    if(condition.2 = 'True', ifNull(toUnixTimestamp64Micro(parseDateTime64BestEffortOrNull(condition.3, 6, 'UTC')), 0), 0) AS micros
                FROM objects
                WHERE kind = 'PersistentVolumeClaim' AND position(object, '"Unused"') > 0 AND ({cluster:String} = '' OR cluster = {cluster:String})
                UNION ALL
                SELECT cluster, uid, {now:DateTime64(6, 'UTC')}, ('', '', ''), assumeNotNull(toUnixTimestamp64Micro(unused_since))
                FROM claims FINAL
                WHERE unused_since IS NOT NULL AND deleted_at IS NULL AND ({cluster:String} = '' OR cluster = {cluster:String})
            )
            GROUP BY cluster, uid
        ) AS c
        ASOF LEFT JOIN spans AS w ON w.watched_cluster = c.cluster AND c.unused_micros >= w.started_micros
    ) AS c ON {{same "c.cluster, c.uid" "b.cluster, b.claim_uid"}}
    GROUP BY key
),
-- What is known of each volume, one row for each part, which are brought together without a join: the volume itself, its bindings, its
-- changes of phase after the moment, what it is now and its last use if that goes back to the moment, its mounts and its conditions.
parts AS
(
    SELECT
        toLowCardinality('volume') AS part, sipHash128(cluster, uid) AS key, sipHash128(cluster, claim_uid) AS claim,
        ifNull(toUnixTimestamp64Micro(created_at), 0) AS began, ifNull(toUnixTimestamp64Micro(phase_changed_at), 0) AS ended,
        if(ifNull(unseen_use_at <= moment, 0), assumeNotNull(toUnixTimestamp64Micro(unseen_use_at)), 0) AS number, toString(phase) AS text,
        toString(cluster) AS in_cluster, uid AS named_uid, name AS named, claim_namespace = {namespace:String} AS in_namespace,
        no_conditions AS list
    FROM volumes FINAL
    WHERE {{template "existed.sql"}}
      AND ({cluster:String} = '' OR cluster = {cluster:String})
      AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
      AND ({namespace:String} = '' AND {owner:String} = '' AND {group:String} = '' OR (cluster, uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
    UNION ALL
    -- A binding whose beginning is not known began before all others.
    SELECT
        toLowCardinality('binding'), sipHash128(cluster, volume_uid), sipHash128(cluster, claim_uid), ifNull(toUnixTimestamp64Micro(bound_at), 0),
        ifNull(toUnixTimestamp64Micro(released_at), 9223372036854775807), toInt64(ordinal), '', '', '', '', 0, no_conditions
    FROM bindings FINAL
    WHERE ({cluster:String} = '' OR cluster = {cluster:String}) AND ({namespace:String} = '' AND {owner:String} = '' AND {group:String} = '' OR (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
    UNION ALL
    -- Of several changes in one second, that from Bound came first, then that from Released.
    SELECT toLowCardinality('phase'), sipHash128(cluster, uid), no_claim, toUnixTimestamp64Micro(changed_at), 0, toInt64(indexOf(['Bound', 'Released', phase], phase)), phase, '', '', '', 0, no_conditions
    FROM
    (
        -- Two trackers can have dated the same change differently.
        SELECT cluster, uid, splitByString(' → ', details)[1] AS phase, min(at) AS changed_at
        FROM changes FINAL
        WHERE kind = 'PersistentVolume' AND namespace = '' AND action IN ('phase', 'released') AND ({cluster:String} = '' OR cluster = {cluster:String})
          AND ({namespace:String} = '' AND {owner:String} = '' AND {group:String} = '' OR (cluster, uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
        GROUP BY cluster, uid, details, resource_version
        HAVING changed_at > moment
    )
    UNION ALL
    SELECT toLowCardinality('state'), sipHash128(cluster, volume_uid), no_claim, assumeNotNull(toUnixTimestamp64Micro(idle_since)), 0, 0, toString(status), '', '', '', 0, no_conditions
    FROM volume_states FINAL
    WHERE idle_since <= moment AND ({cluster:String} = '' OR cluster = {cluster:String}) AND ({namespace:String} = '' AND {owner:String} = '' AND {group:String} = '' OR (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
    UNION ALL
    SELECT toLowCardinality('last'), sipHash128(cluster, volume_uid), no_claim, 0, assumeNotNull(toUnixTimestamp64Micro(last_ended_at)), 0, '', '', '', '', 0, no_conditions
    FROM volume_uses FINAL
    WHERE NOT in_use AND last_ended_at <= moment AND ({cluster:String} = '' OR cluster = {cluster:String}) AND ({namespace:String} = '' AND {owner:String} = '' AND {group:String} = '' OR (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
    UNION ALL
    SELECT
        toLowCardinality('mounts'), if(c.volume != no_claim, c.volume, m.used_key), no_claim, 0, m.last, toInt64(m.running), '', '', '', '', 0, no_conditions
    FROM mounted AS m
    LEFT JOIN (SELECT sipHash128(cluster, uid) AS claim, sipHash128(cluster, volume_uid) AS volume FROM claims FINAL WHERE volume_uid != '') AS c ON c.claim = m.used_key
    UNION ALL
    SELECT toLowCardinality('conditions'), key, no_claim, 0, 0, 0, '', '', '', '', 0, list FROM conditions
),
-- ClickHouse writes an expression out for each use of its name, and what uses these in turn becomes longer than it can analyse in a second: so
-- each step is a query of its own.
summed AS
(
    SELECT
        key,
        max(in_cluster) AS of_cluster, max(named_uid) AS volume_uid, max(named) AS name, max(in_namespace) AS by_namespace,
        sumIf(began, part = 'volume') AS created_micros, sumIf(ended, part = 'volume') AS phase_micros, sumIf(number, part = 'volume') AS unseen_micros,
        anyIf(text, part = 'volume') AS phase_now, anyIf(claim, part = 'volume') AS present_claim,
        countIf(part = 'binding') > 0 AS is_known, countIf(part = 'binding' AND began <= moment_micros) > 0 AS was_bound,
        argMaxIf(claim, bitShiftLeft(toUInt128(began), 32) + number, part = 'binding' AND began <= moment_micros) AS bound_claim,
        argMaxIf(ended, bitShiftLeft(toUInt128(began), 32) + number, part = 'binding' AND began <= moment_micros) > moment_micros AS lasts,
        maxIf(began, part = 'binding' AND began <= moment_micros) AS bound_micros,
        argMinIf(text, bitShiftLeft(toUInt128(began), 32) + number, part = 'phase') AS phase_before,
        sumIf(began, part = 'state') AS idle_micros_now, anyIf(text, part = 'state') AS status_now,
        maxIf(ended, part = 'mounts') AS mounted_micros, maxIf(ended, part = 'last') AS last_micros,
        groupArrayArray(list) AS listed
    FROM parts
    GROUP BY key
    HAVING countIf(part = 'volume') > 0 AND sumIf(number, part = 'mounts') = 0 AND (was_bound OR NOT is_known)
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
            -- If its changes have expired, it is not known since when a volume that was released then is available.
            multiIf(was_bound AND lasts, 'Bound', phase_before != '', phase_before, phase_micros <= moment_micros, phase_now, was_bound, 'Released', '') AS phase
        FROM summed
    )
    WHERE phase_then IN ('Bound', 'Released')
       AND ({namespace:String} = '' AND {owner:String} = '' AND {group:String} = '' OR by_namespace AND claim_key = present_claim AND {owner:String} = '' AND {group:String} = ''
            OR claim_key IN (SELECT sipHash128(c.1, c.2) FROM (SELECT arrayJoin(its_claims) AS c)))
       AND claim_key NOT IN (SELECT sipHash128(cluster, claim_uid) FROM awaited)
),
-- Since when a volume was idle, by rule 5.5 of collector/inventory: since its last use, or one that only a condition Unused shows, else
-- since it was bound. The controllers that write the times work within seconds, and the API cuts times to whole seconds.
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
                idle_micros_now != 0, idle_micros_now,
                latest.1 > base_micros AND NOT (latest.2 != 0 AND (latest.2 <= base_micros + 999999 OR latest.1 > latest.2 + 10000000)), latest.1,
                base_micros) AS idle_micros,
            multiIf(phase_then = 'Released', 'released', status_now IN ('idle', 'never_mounted'), status_now, known_micros != 0, 'idle', 'never_mounted') AS status
        FROM with_use
    )
    WHERE seconds >= {min_idle:Int64}
),
-- The rows, once: what else they say is read for them alone.
(
    SELECT groupArray((
        of_cluster, volume_uid, claim_key, status, idle_micros, seconds, latest.5, used_micros,
        mounted_micros > last_micros)) -- the last use is among the mounts, and not the last of all
    FROM
    (
        SELECT * FROM with_idle
        ORDER BY seconds DESC, of_cluster, name, volume_uid
        LIMIT {limit:UInt64}
    )
) AS found,
-- Whose the last use of these rows was: of several that ended together, that which started last.
found_claims AS
(
    SELECT cluster, namespace, uid, name, volume_uid
    FROM claims FINAL
    WHERE ({{hashes "cluster, uid"}}) IN
          (SELECT {{hashes "cluster, claim_uid"}} FROM bindings WHERE ({{hashes "cluster, volume_uid"}}) IN (SELECT {{hashes "r.1, r.2"}} FROM (SELECT arrayJoin(found) AS r) WHERE r.9))
       OR ({{hashes "cluster, volume_uid"}}) IN (SELECT {{hashes "r.1, r.2"}} FROM (SELECT arrayJoin(found) AS r) WHERE r.9)
),
last_users AS
(
    SELECT cluster, its_volume AS volume_uid, argMax((namespace, pod_created_at, pod_uid), (ended_at, started_at, pod_uid)) AS pod
    FROM
    (
        SELECT m.cluster AS cluster, m.namespace AS namespace, m.pod_created_at AS pod_created_at, m.pod_uid AS pod_uid, m.started_at AS started_at, m.ended_at AS ended_at,
            if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS its_volume
        FROM
        (
            SELECT cluster, namespace, claim_uid, volume_uid, pod_created_at, pod_uid, started_at, assumeNotNull(ended_at) AS ended_at
            FROM mounts FINAL
            WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM found_claims)
              AND pod_created_at <= moment AND started_at <= moment AND mounts.ended_at <= moment
        ) AS m
        LEFT JOIN (SELECT cluster, uid, volume_uid FROM found_claims) AS c ON c.cluster = m.cluster AND c.uid = m.claim_uid
    )
    GROUP BY cluster, its_volume
),
idle AS
(
    SELECT
        r.1 AS cluster, r.2 AS volume_uid, v.name AS volume, r.4 AS state,
        if(r.5 = 0, NULL, fromUnixTimestamp64Micro(r.5, 'UTC')) AS idle_since,
        r.6 AS idle_seconds,
        if(c.uid != '', toString(c.namespace), if(r.3 = v.present_claim, toString(v.claim_namespace), '')) AS namespace,
        if(c.uid != '', c.name, if(r.3 = v.present_claim, v.claim_name, '')) AS claim,
        if(r.7 = 0, NULL, fromUnixTimestamp64Micro(r.7, 'UTC')) AS unused_since,
        v.storage_class AS storage_class,
        toInt64(v.capacity_bytes - g.grown_bytes) AS capacity_bytes,
        m.used_bytes AS used_bytes,
        v.reclaim_policy AS reclaim_policy,
        if(r.8 = 0, NULL, fromUnixTimestamp64Micro(r.8, 'UTC')) AS last_used_at,
        toString(if(r.9, l.pod.1, u.last_namespace)) AS last_namespace,
        if(r.9, p.name, u.last_pod) AS last_pod,
        trim(BOTH '/' FROM if(NOT r.9, concat(u.last_workload_kind, '/', u.last_workload_name), concat(p.workload_kind, '/', p.workload_name))) AS last_workload,
        -- Of annotations, only the present ones are known.
        CAST(NULL AS Nullable(DateTime64(6, 'UTC'))) AS keep_until,
        '' AS keep_reason
    FROM (SELECT arrayJoin(found) AS r) AS f
    INNER JOIN
    (
        SELECT cluster, uid, name, storage_class, reclaim_policy, capacity_bytes, sipHash128(cluster, claim_uid) AS present_claim,
            claim_namespace, claim_name
        FROM volumes FINAL WHERE (cluster, uid) IN (SELECT r.1, r.2 FROM (SELECT arrayJoin(found) AS r))
    ) AS v ON v.cluster = r.1 AND v.uid = r.2
    LEFT JOIN
    (
        SELECT sipHash128(cluster, uid) AS its_key, uid, namespace, name
        FROM claims FINAL WHERE its_key IN (SELECT r.3 FROM (SELECT arrayJoin(found) AS r))
    ) AS c ON c.its_key = r.3
    LEFT JOIN
    (
        SELECT cluster, volume_uid, last_namespace, last_pod, last_workload_kind, last_workload_name
        FROM volume_uses FINAL WHERE last_ended_at <= moment AND (cluster, volume_uid) IN (SELECT r.1, r.2 FROM (SELECT arrayJoin(found) AS r))
    ) AS u ON u.cluster = r.1 AND u.volume_uid = r.2
    LEFT JOIN last_users AS l ON l.cluster = r.1 AND l.volume_uid = r.2
    LEFT JOIN
    (
        SELECT cluster, uid, name, workload_kind, workload_name
        FROM pods FINAL
        WHERE (cluster, namespace, created_at, uid) IN (SELECT cluster, pod.1, pod.2, pod.3 FROM last_users)
    ) AS p ON p.cluster = l.cluster AND p.uid = l.pod.3
    LEFT JOIN
    (
        SELECT cluster, uid, sum(bytes) AS grown_bytes
        FROM
        (
            -- Two trackers can have dated the same change differently.
            SELECT
                cluster, uid, details, min(at) AS resized_at,
                -- Quantities as the tracker writes them; of others, nothing is known.
                arrayMap(
                    text -> if(match(text, '^[0-9]{1,19}([KMGTPE]i)?$'),
                        toInt128(extract(text, '^[0-9]+')) * transform(extract(text, '[A-Z]i$'), ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'],
                            [1, 1024, 1048576, 1073741824, 1099511627776, 1125899906842624, 1152921504606846976], 0), toInt128(-1)),
                    splitByString(' → ', details)) AS sizes,
                if(length(sizes) = 2 AND sizes[1] >= 0 AND sizes[2] >= 0, sizes[2] - sizes[1], toInt128(0)) AS bytes
            FROM changes FINAL
            WHERE kind = 'PersistentVolume' AND namespace = '' AND action = 'resized'
              AND ({cluster:String} = '' OR cluster = {cluster:String})
              AND (cluster, uid) IN (SELECT r.1, r.2 FROM (SELECT arrayJoin(found) AS r))
            GROUP BY cluster, uid, details, resource_version
            HAVING resized_at > moment
        )
        GROUP BY cluster, uid
    ) AS g ON g.cluster = r.1 AND g.uid = r.2
    LEFT JOIN
    (
        SELECT cluster, volume_uid, toNullable(argMax(used_bytes, at)) AS used_bytes
        FROM
        (
            SELECT cluster, volume_uid, at, used_bytes FROM usage FINAL
            WHERE at <= moment AND (cluster, volume_uid) IN (SELECT r.1, r.2 FROM (SELECT arrayJoin(found) AS r))
            UNION ALL
            SELECT cluster, volume_uid, at, used_bytes FROM last_usage FINAL
            WHERE at <= moment AND (cluster, volume_uid) IN (SELECT r.1, r.2 FROM (SELECT arrayJoin(found) AS r))
        )
        GROUP BY cluster, volume_uid
    ) AS m ON m.cluster = r.1 AND m.volume_uid = r.2
),
{{template "idle_observed.sql"}}
