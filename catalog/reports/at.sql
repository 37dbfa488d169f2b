-- The volumes that existed at a moment, as they were then. The table volumes has only the last size and phase, so those of the past
-- come from the versions in objects: the last one that was observed by then. While nobody watched volumes, it is valid only
-- if the next version says the same, or dates its phase before the moment. Values that are not known are empty.
WITH
-- Keys of the volumes that the flags may choose, by their claims at any time; without such flags, of those that the report shows.
(
    SELECT groupArray(uid_key)
    FROM
    (
        SELECT uid_key
        FROM volumes FINAL
        WHERE {{template "existed.sql"}}{{filter "cluster" "storage_class"}}
{{- if given "namespace" "owner" "group"}}
          AND uid_key IN
               (
                   SELECT volume_key FROM bindings
                   WHERE claim_key IN (SELECT uid_key FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}})
               )
{{- else if not (given "workload")}}
        ORDER BY cluster, name, uid
        LIMIT {limit:UInt64}
{{- end}}
    )
) AS volume_keys,
{{template "uses_chosen.sql" "at"}},
{{template "owned.sql" "at"}},
{{- if ne . "now"}}
versions AS
(
    SELECT
        cluster, uid, observed_at,
        JSONExtractString(object, 'spec', 'capacity', 'storage') AS quantity,
        -- A quantity as the API writes sizes; of others, the size is not known.
        if(match(quantity, '^[0-9]{1,18}([kMGTPE]|[KMGTPE]i)?$'),
            toInt128(extract(quantity, '^[0-9]+')) * transform(replaceRegexpOne(quantity, '^[0-9]+', ''),
                ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'],
                [1, 1000, 1000000, 1000000000, 1000000000000, 1000000000000000, 1000000000000000000,
                    1024, 1048576, 1073741824, 1099511627776, 1125899906842624, 1152921504606846976], 0), -1) AS size,
        JSONExtractString(object, 'status', 'phase') AS phase,
        ifNull(parseDateTime64BestEffortOrNull(JSONExtractString(object, 'status', 'lastPhaseTransitionTime'), 6, 'UTC') <= moment, 0) AS had_phase
    FROM objects
    WHERE kind = 'PersistentVolume'{{filter "cluster"}} AND {{listed (key "cluster, uid") "volume_keys"}}
),
states AS
(
    SELECT
        cluster, uid,
        argMaxIf((size, phase), observed_at, observed_at <= moment) AS last,
        argMinIf((size, phase, had_phase), observed_at, observed_at > moment) AS following,
        countIf(observed_at <= moment) > 0 AS has_last,
        countIf(observed_at > moment) > 0 AS has_following
    FROM versions
    GROUP BY cluster, uid
),
watched AS
(
    SELECT DISTINCT cluster FROM coverage FINAL
    WHERE kind = 'PersistentVolume' AND started_at <= moment AND coalesce(ended_at, seen_at) >= moment
),
{{- end}}
{until:DateTime64(6, 'UTC')} AS moment
SELECT
    v.cluster AS cluster,
    v.name AS persistentvolume,
{{- if eq . "now"}}
    v.capacity_bytes AS capacity_bytes,
    v.phase AS phase,
{{- else}}
    multiIf(
        moment >= {now:DateTime64(6, 'UTC')}, v.capacity_bytes,
        s.has_last AND (v.is_watched OR NOT s.has_following AND v.deleted_at IS NULL) OR s.has_last AND s.has_following AND s.last.1 = s.following.1, if(s.last.1 < 0, NULL, s.last.1),
        NULL) AS capacity_bytes,
    multiIf(
        moment >= {now:DateTime64(6, 'UTC')}, v.phase,
        s.has_last AND (v.is_watched OR NOT s.has_following AND v.deleted_at IS NULL), s.last.2,
        s.has_following AND s.following.3, s.following.2,
        '') AS phase,
{{- end}}
    b.namespace AS namespace,
    b.claim AS claim,
    v.storage_class AS storage_class,
    u.pods AS pods,
    u.workloads AS workloads,
    v.source_kind AS source,
    trim(concat(d.driver, ' ', d.server, if(d.server = '' OR d.path = '', '', ':'), d.path)) AS backend
FROM
(
    SELECT cluster, uid, uid_key, source_key, name, toInt128(capacity_bytes) AS capacity_bytes, toString(phase) AS phase, storage_class, source_kind, deleted_at
{{- if ne . "now"}},
        cluster IN (SELECT cluster FROM watched) AS is_watched
{{- end}}
    FROM volumes FINAL
    WHERE {{listed "uid_key" "volume_keys"}}
) AS v
{{if ne . "now"}}
LEFT JOIN states AS s ON {{key "s.cluster, s.uid"}} = v.uid_key
{{end}}
LEFT JOIN
(
    SELECT b.volume_key AS volume_key, argMax(c.namespace, b.began) AS namespace, argMax(c.name, b.began) AS claim,
        argMax(c.owner, b.began) AS owner, argMax(c.groups, b.began) AS groups
    FROM (SELECT uid_key, namespace, name, owner, groups FROM claims FINAL WHERE {{template "uses_of.sql" "at"}}) AS c
    RIGHT JOIN
    (
        -- A binding whose beginning is not known counts as the first.
        SELECT volume_key, claim_key, (ifNull(bound_at, toDateTime64(0, 6, 'UTC')), ordinal) AS began FROM bindings FINAL
        WHERE (bound_at IS NULL OR bound_at <= moment) AND (released_at IS NULL OR released_at > moment)
          AND {{listed "volume_key" "volume_keys"}}
    ) AS b ON c.uid_key = b.claim_key
    GROUP BY volume_key
) AS b ON b.volume_key = v.uid_key
LEFT JOIN
(
    SELECT {{key "cluster, volume_uid"}} AS volume_key, uniqExact(pod_uid) AS pods, arraySort(groupUniqArray(workload)) AS workloads
    FROM owned
    GROUP BY volume_key
) AS u ON u.volume_key = v.uid_key
LEFT JOIN
(
    SELECT id_key, driver, server, path FROM volume_sources FINAL
    WHERE id_key IN (SELECT source_key FROM volumes WHERE {{listed "uid_key" "volume_keys"}})
) AS d ON d.id_key = v.source_key
WHERE true{{filter "b.namespace" "b.owner" "b.groups"}}
{{- if given "workload"}}
  AND arrayExists(name -> {workload:String} IN (name, substring(name, position(name, '/') + 1)), u.workloads)
{{- end}}
ORDER BY cluster, persistentvolume, v.uid
LIMIT {limit:UInt64}
