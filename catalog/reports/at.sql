-- The volumes that existed at a moment, as they were then. The table volumes has only the last size and phase, so those of the past
-- come from its versions: the last one that was observed by then. While nobody watched volumes, it is valid only
-- if the next version says the same, or dates its phase before the moment. Values that are not known are empty. A volume that had been
-- released counts for the claim that it had last, unless it was available again.
{{- $chosen := given "namespace" "owner" "group"}}
{{- $then := and $chosen (ne . "now")}}
WITH
{{- if $then}}
{{template "stays_then.sql"}}
{{- end}}
-- Keys of the volumes that the report shows; with --workload, of those that the other flags select.
(
    SELECT groupArray(uid_key)
    FROM
    (
        SELECT uid_key
        FROM volumes FINAL
{{- if $then}}
        PREWHERE {{template "volume_then.sql" "at"}}
{{- end}}
        WHERE {{template "existed.sql"}}{{filter "cluster" "storage_class"}}
{{- if and $chosen (not $then)}}
          AND phase != 'Available' AND {{template "of_chosen_claim.sql"}}
{{- end}}
{{- if not (given "workload")}}
        ORDER BY cluster, name, uid
        LIMIT {limit:UInt64}
{{- end}}
    )
) AS volume_keys,
{{- if given "owner" "group"}}
{{template "volume_namespaces.sql"}}
{{- end}}
{{template "uses_chosen.sql" "at"}},
{{template "owned.sql" "at"}},
{{- if ne . "now"}}
states AS
(
    SELECT
        volume_key,
        argMaxIf((capacity_bytes, toString(phase)), observed_at, observed_at <= moment) AS last,
        argMinIf((capacity_bytes, toString(phase), ifNull(phase_changed_at <= moment, false)), observed_at, observed_at > moment) AS following,
        countIf(observed_at <= moment) > 0 AS has_last,
        countIf(observed_at > moment) > 0 AS has_following
    FROM volume_versions FINAL
    PREWHERE {{listed "volume_key" "volume_keys"}}
    GROUP BY volume_key
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
        s.has_last AND (v.is_watched OR NOT s.has_following AND v.deleted_at IS NULL) OR s.has_last AND s.has_following AND s.last.1 = s.following.1, s.last.1,
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
    SELECT cluster, uid, uid_key, source_key, name, capacity_bytes, toString(phase) AS phase, storage_class, source_kind, deleted_at
{{- if ne . "now"}},
        cluster IN (SELECT cluster FROM watched) AS is_watched
{{- end}}
    FROM volumes FINAL PREWHERE {{listed "uid_key" "volume_keys"}}
) AS v
{{if ne . "now"}}
LEFT JOIN states AS s ON s.volume_key = v.uid_key
{{end}}
LEFT JOIN
(
    SELECT volume_key, argMax(namespace, {{template "at_began.sql"}}) AS namespace, argMax(claim_name, {{template "at_began.sql"}}) AS claim
    FROM bindings FINAL PREWHERE {{listed "volume_key" "volume_keys"}}
    WHERE {{template "bound_then.sql" "until"}}
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
    PREWHERE id_key IN (SELECT source_key FROM volumes WHERE {{listed "uid_key" "volume_keys"}})
) AS d ON d.id_key = v.source_key
{{- if given "workload"}}
WHERE arrayExists(name -> {{template "named_workload.sql" "name"}}, u.workloads)
{{- end}}
ORDER BY cluster, persistentvolume, v.uid
LIMIT {limit:UInt64}
