{{- /* Included by the reports on space in the past, and by the rollup byte_seconds_daily. Before it come began_micros and ended_micros, the
       window, and windows.sql. */ -}}
-- The lives of claims and volumes in parts, and how much of the window each part takes. Times are microseconds since 1970. The parts
-- can be added up: a part that begins with a resize has only the bytes that the resize added.
-- Claims count from creation to deletion. A volume counts from each binding on, first as bound and then as released, until its next
-- binding, its deletion, or until it is Available again or Failed. It is idle while no container uses it, through whichever claim, and no
-- pod waits for its claim. Only a pod that started later is known to have waited: one that never started has no mounts.
{{if given "namespace" "owner" "group"}}
{{template "chosen_volumes.sql"}}
{{template "volume_namespaces.sql"}}
{{template "shared_volumes.sql" "chosen"}}
{{else}}
{{template "shared_volumes.sql" ""}}
{{end}}
-- The bindings of each volume, in their order: when bound, when released, of which claim.
bound AS
(
    SELECT
        volume_key AS volume,
        arraySort(groupArray((ifNull(toUnixTimestamp64Micro(coalesce(b.bound_at, c.created_at)), 0), ifNull(toUnixTimestamp64Micro(b.released_at), 9000000000000000), b.claim_key, b.ordinal))) AS bindings
    FROM
    (
        SELECT volume_key, claim_key, ordinal, bound_at, released_at
        FROM bindings FINAL {{template "prewhere_volumes.sql" "volume_key"}}
        WHERE {{template "in_volume_namespaces.sql"}}
    ) AS b
    -- A binding without a known beginning counts from the creation of its claim: the earliest that it can have begun.
    LEFT ANY JOIN (SELECT uid_key, created_at FROM claims PREWHERE uid_key IN (SELECT claim_key FROM bindings WHERE bound_at IS NULL)) AS c ON c.uid_key = b.claim_key
    GROUP BY volume
),
-- When a volume began or ceased to take space, by its phases. Few volumes have such changes. The last one is in volumes.
phases AS
(
    SELECT {{key "cluster, uid"}} AS volume,
        groupArray((toUnixTimestamp64Micro(at), action = 'released' OR endsWith(details, '→ Bound') OR endsWith(details, '→ Released'))) AS phases
    FROM changes FINAL
    PREWHERE action IN ('phase', 'released')
    WHERE kind = 'PersistentVolume' AND namespace = ''{{filter "cluster"}}
{{- if given "namespace" "owner" "group"}}
      AND {{listed (key "cluster, uid") "volume_keys"}}
{{- end}}
    GROUP BY volume
),
volumes_then AS
(
    SELECT
        cluster, uid_key AS volume, storage_class,
        claim_key AS last_claim, claim_uid != '' AS has_claim, claim_namespace AS last_namespace, capacity_bytes,
        ifNull(toUnixTimestamp64Micro(created_at), 0) AS created_micros, ifNull(toUnixTimestamp64Micro(deleted_at), 9000000000000000) AS gone_micros,
        phase, ifNull(toUnixTimestamp64Micro(phase_changed_at), 0) AS phase_micros
    FROM volumes FINAL {{template "prewhere_volumes.sql" "uid_key"}}
    WHERE true{{filter "cluster" "storage_class"}}
      AND created_micros < ended_micros
      AND gone_micros > began_micros
),
-- The times of each volume with a claim, as (claim, begin, release, end): a volume stays with a claim until its next
-- binding.
stays AS
(
    SELECT
        cluster, volume, storage_class, last_claim, last_namespace, capacity_bytes, phase,
        -- Before Kubernetes 1.28 a volume does not say since when it has its phase: if it takes no space, since its release.
        if(phase_micros != 0 OR phase IN ('Bound', 'Released'), phase_micros, bindings[-1].2) AS phased_micros,
        arrayJoin(multiIf(
            notEmpty(bindings), arrayMap(
                (b, next) -> (b.3, greatest(b.1, created_micros), b.2, least(gone_micros, if(next = 0, 9000000000000000, next))),
                bindings, arrayResize(arrayPopFront(bindings.1), length(bindings), 9000000000000000)),
            -- A volume whose binding nobody saw has had its claim from the beginning.
            has_claim AND phase IN ('Bound', 'Released', 'Failed'),
                [(last_claim, created_micros, if(phase = 'Bound', 9000000000000000, phase_micros), gone_micros)],
            [])) AS stay,
        stay.1 AS claim, stay.2 AS began, stay.3 AS until, stay.4 AS over
    FROM volumes_then AS v
    LEFT JOIN bound AS b ON b.volume = v.volume
),
volume_parts AS
(
    SELECT
        cluster, volume, storage_class, claim, last_claim, last_namespace,
        -- (began, ended, bound volumes, released volumes, bytes)
        arrayJoin(arrayFilter(p -> p.1 < least(p.2, ended_micros) AND p.2 > began_micros, arrayConcat(
            [(began, released, 1, 0, toInt128(capacity_bytes) - arraySum(arrayMap(r -> if(r.1 > began, r.2, toInt128(0)), resizes))),
             (released, ended, 0, 1, toInt128(capacity_bytes) - arraySum(arrayMap(r -> if(r.1 > released, r.2, toInt128(0)), resizes)))],
            arrayMap(r -> (r.1, if(r.1 <= released, released, ended), 0, 0, r.2), arrayFilter(r -> r.1 > began AND r.1 <= ended, resizes))))) AS part
    FROM
    (
        SELECT
            s.cluster AS cluster, s.volume AS volume, s.storage_class AS storage_class, s.claim AS claim, s.last_claim AS last_claim,
            s.last_namespace AS last_namespace, s.capacity_bytes AS capacity_bytes, s.began AS began, r.resizes AS resizes,
            -- Kubernetes dates phases to the second. Of those of the same second, the one that ends a stay comes last.
            arraySort(p -> (p.1, NOT p.2), arrayFilter(p -> p.1 > s.began AND p.1 < s.over, arrayPushBack(p.phases, (s.phased_micros, s.phase IN ('Bound', 'Released'))))) AS changed,
            if(notEmpty(changed) AND NOT changed[-1].2, changed[-1].1, s.over) AS ended,
            least(greatest(s.until, s.began), ended) AS released
        FROM stays AS s
        LEFT JOIN phases AS p ON p.volume = s.volume
        LEFT JOIN
        (
            {{template "object_resizes.sql" "PersistentVolume"}}
        ) AS r ON r.object = s.volume
    )
),
-- When pods used a volume or waited for it, as spans that do not overlap. A pod can wait for a claim while another one has the volume. So
-- the spans of a volume that several claims have or had are of each of these, and those of others of the claim 0. This may read all mounts, so
-- it groups them before the joins: by the volume, or the claim where a mount was written before its volume was known, and by the claim.
uses AS
(
    SELECT volume, groupArray((greatest(began, reached), ended, claim)) AS stretches
    FROM
    (
        SELECT
            volume, claim, began, ended,
            max(ended) OVER (PARTITION BY volume, claim ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM
        (
            SELECT
                if(c.volume != 0, c.volume, m.used_key) AS volume, b.claim_key AS claim,
                arrayJoin(m.spans) AS span, if(b.claim_key = 0 OR b.claim_key = m.claim_key, span.1, span.2) AS began, span.3 AS ended
            FROM
            (
                SELECT
                    {{key "cluster, if(volume_uid != '', volume_uid, claim_uid)"}} AS used_key, {{key "cluster, claim_uid"}} AS claim_key,
                    groupArray((
                        toUnixTimestamp64Micro(pod_created_at), toUnixTimestamp64Micro(started_at), ifNull(toUnixTimestamp64Micro(ended_at), 9000000000000000))) AS spans
                FROM mounts FINAL
                -- Two conditions, because the index of ended_at would not help with one for both.
                PREWHERE pod_created_at IN
                         (
                             SELECT pod_created_at FROM mounts WHERE {{template "in_volume_namespaces.sql"}} AND {{template "in_first_part.sql"}}
                             UNION ALL
                             SELECT pod_created_at FROM mounts WHERE {{template "in_volume_namespaces.sql"}} AND {{template "in_last_part.sql"}}
                         )
                WHERE claim_name != '' AND (ended_at IS NULL OR ended_at > pod_created_at)
                  AND {{template "space_uses.sql"}}
                  AND ({{template "in_first_part.sql"}} OR {{template "in_last_part.sql"}})
                GROUP BY used_key, claim_key
            ) AS m
            LEFT JOIN
            (
                SELECT uid_key AS claim, volume_key AS volume FROM claims FINAL WHERE volume_uid != '' AND {{template "in_volume_namespaces.sql"}}
            ) AS c ON c.claim = m.used_key
            LEFT JOIN
            (
                SELECT DISTINCT volume_key, claim_key FROM bindings WHERE {{listed "volume_key" "shared_volumes"}}
            ) AS b ON b.volume_key = if(c.volume != 0, c.volume, m.used_key)
        )
    )
    WHERE ended > greatest(began, reached)
    GROUP BY volume
),
-- The samples of usage: the last one before each part of the window, and those in it. A sample is valid until the next one.
samples AS
(
    SELECT
        volume,
        arraySort(arrayConcat(arrayFilter(m -> m.1 != 0, [before_first, before_last]), inside)) AS list,
        arrayMap((m, next) -> (m.1, next, m.2), list, arrayResize(arrayPopFront(list.1), length(list), 9000000000000000)) AS measured
    FROM
    (
        SELECT
            {{key "cluster, volume_uid"}} AS volume,
            argMaxIf((toUnixTimestamp64Micro(at), used_bytes), at, at <= fromUnixTimestamp64Micro(began_micros, 'UTC')) AS before_first,
            argMaxIf((toUnixTimestamp64Micro(at), used_bytes), at, last_edge < ended_micros AND at <= fromUnixTimestamp64Micro(last_edge, 'UTC')) AS before_last,
            groupArrayIf((toUnixTimestamp64Micro(at), used_bytes),
                at > fromUnixTimestamp64Micro(began_micros, 'UTC') AND at < fromUnixTimestamp64Micro(first_edge, 'UTC')
                OR at > fromUnixTimestamp64Micro(last_edge, 'UTC')) AS inside
        FROM usage
        WHERE at < fromUnixTimestamp64Micro(ended_micros, 'UTC') AND {{template "in_volume_namespaces.sql"}}
        GROUP BY volume
    )
),
-- Each part of a life. measures has its time in the window as a claim, as a bound and as a released volume, and, times that, the bytes that were
-- requested, had, and idle. They are an array, because ClickHouse hashes the whole of this subquery for each column of it that a sum names.
parts AS
(
    SELECT
        cluster, namespace, owner, groups, storage_class, [claims * taken, 0, 0, requested * taken, 0, 0] AS measures, CAST(NULL, 'Nullable(Int128)') AS used
    FROM
    (
        SELECT
            c.cluster AS cluster, c.namespace AS namespace, c.owner AS owner, c.groups AS groups, c.storage_class AS storage_class,
            {{template "edges.sql"}} AS windows,
            arrayJoin(arrayConcat(
                [(ifNull(toUnixTimestamp64Micro(c.created_at), 0), 1, toInt128(c.requested_bytes) - arraySum(r.resizes.2))],
                arrayMap(resize -> (resize.1, 0, resize.2), r.resizes))) AS part,
            toInt128(part.2) AS claims, part.3 AS requested,
            toInt128(arraySum(w -> greatest(0, least(c.gone, w.2) - greatest(part.1, w.1)), windows)) AS taken
        FROM
        (
            SELECT cluster, uid_key, namespace, owner, groups, storage_class, created_at, requested_bytes, ifNull(toUnixTimestamp64Micro(deleted_at), 9000000000000000) AS gone
            FROM claims AS c FINAL
            WHERE true{{filter "cluster"}}
              AND {{template "claim_filter.sql"}}{{filter "storage_class"}}
              AND (deleted_at IS NULL OR toUnixTimestamp64Micro(deleted_at) > began_micros)
              AND (created_at IS NULL OR toUnixTimestamp64Micro(created_at) < ended_micros)
        ) AS c
        LEFT JOIN
        (
            {{template "object_resizes.sql" "PersistentVolumeClaim"}}
        ) AS r ON r.object = c.uid_key
    )
    UNION ALL
    SELECT
        cluster, namespace, owner, groups, storage_class,
        [toInt128(0), part.3 * taken, part.4 * taken, 0, part.5 * taken,
            part.5 * (taken - toInt128(arraySum(s -> arraySum(w -> greatest(0, least(part.2, w.2, s.2) - greatest(part.1, w.1, s.1)), windows), stretches)))],
        if(part.3 + part.4 = 0 OR NOT arrayExists(m -> arrayExists(w -> least(part.2, w.2, m.2) > greatest(part.1, w.1, m.1), windows), measured), NULL,
            arraySum(m -> toInt128(m.3) * arraySum(w -> greatest(0, least(part.2, w.2, m.2) - greatest(part.1, w.1, m.1)), windows), measured))
    FROM
    (
        SELECT
            p.cluster AS cluster, p.storage_class AS storage_class, c.owner AS owner, c.groups AS groups, p.part AS part,
            multiIf(c.namespace != '', toString(c.namespace), p.claim = p.last_claim, toString(p.last_namespace), '') AS namespace,
            arrayFilter(s -> s.3 = 0 OR s.3 = p.claim, u.stretches) AS stretches, m.measured AS measured,
            {{template "edges.sql"}} AS windows,
            toInt128(arraySum(w -> greatest(0, least(part.2, w.2) - greatest(part.1, w.1)), windows)) AS taken
        FROM volume_parts AS p
        LEFT JOIN
        (
            SELECT uid_key AS claim, namespace, owner, groups
            FROM claims AS c FINAL
            WHERE true{{filter "cluster"}}
              AND {{template "claim_filter.sql"}}
{{- if not (given "owner" "group")}}
            UNION ALL
            -- Claims that were gone before the first tracker came, and whose volumes got others since.
            SELECT DISTINCT claim_key, namespace, '', []
            FROM bindings
            WHERE released_at IS NOT NULL AND {{template "in_namespaces.sql"}}
              AND claim_key NOT IN
                  (
                      SELECT uid_key FROM claims
                      WHERE uid_key IN (SELECT claim_key FROM bindings WHERE released_at IS NOT NULL) AND {{template "in_namespaces.sql"}}
                  )
{{- end}}
        ) AS c ON c.claim = p.claim
        LEFT JOIN uses AS u ON u.volume = p.volume
        LEFT JOIN samples AS m ON m.volume = p.volume
        WHERE true{{filter "namespace" "owner" "groups"}}
    )
)
