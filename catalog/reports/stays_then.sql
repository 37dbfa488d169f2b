{{- /* Included by at.sql, counts.sql and diff.sql: which claims volumes had at {until}, in the table had. */ -}}
-- The claim that a volume had at the moment, or had last; since when, and whether it was released from it.
stays AS
(
    SELECT
        volume_key, argMax((claim_key, toString(namespace), ifNull(released_at <= {until:DateTime64(6, 'UTC')}, 0)), (ifNull(toUnixTimestamp64Micro(bound_at), 0), ordinal)) AS last,
        max(ifNull(toUnixTimestamp64Micro(bound_at), 0)) AS bound_micros
    FROM bindings FINAL
{{- if given "namespace" "owner" "group"}}
    PREWHERE volume_key IN (SELECT volume_key FROM bindings WHERE {{template "in_namespaces.sql"}})
{{- end}}
    WHERE ifNull(bound_at <= {until:DateTime64(6, 'UTC')}, NOT {{template "claim_came_after.sql" "until"}})
    GROUP BY volume_key
),
-- The last change of a volume's phase by the moment, and whether it made the volume available. Of changes in the same second, that one
-- comes last.
phases AS
(
    SELECT {{key "cluster, uid"}} AS volume, max((toUnixTimestamp64Micro(at), endsWith(details, '→ Available'))) AS last
    FROM changes FINAL
    PREWHERE action IN ('phase', 'released')
    WHERE kind = 'PersistentVolume' AND namespace = ''{{filter "cluster"}} AND at <= {until:DateTime64(6, 'UTC')}
      AND volume IN (SELECT volume_key FROM bindings WHERE released_at <= {until:DateTime64(6, 'UTC')} AND {{template "in_namespaces.sql"}})
    GROUP BY volume
),
{{- if given "namespace" "owner" "group"}}
-- The volumes of the selected namespaces that no claim there is known to have had.
(
    SELECT groupUniqArray(volume_key)
    FROM claimed_volumes
    WHERE {{template "in_namespaces.sql"}}
      AND volume_key NOT IN (SELECT volume_key FROM bindings WHERE {{template "in_namespaces.sql"}})
) AS never_bound,
{{- end}}
-- The volumes with these claims, but for those that were available again: by their last change, or, if that has expired, by their present
-- row. A volume whose binding nobody saw has had its claim from the beginning.
had AS
(
    SELECT volume_key, stays.last.1 AS claim_key, stays.last.2 AS claim_namespace
    FROM stays LEFT JOIN phases ON phases.volume = stays.volume_key
    WHERE NOT (stays.last.3 AND phases.last.2 AND phases.last.1 > stays.bound_micros)
      AND stays.volume_key NOT IN
          (
              SELECT uid_key FROM volumes FINAL
{{- if given "namespace" "owner" "group"}}
              PREWHERE uid_key IN (SELECT volume_key FROM bindings WHERE {{template "in_namespaces.sql"}})
{{- end}}
              WHERE phase = 'Available' AND phase_changed_at <= {until:DateTime64(6, 'UTC')}
          )
    UNION ALL
    SELECT uid_key, claim_key, toString(claim_namespace) FROM volumes FINAL
{{- if given "namespace" "owner" "group"}}
    PREWHERE {{listed "uid_key" "never_bound"}}
    WHERE phase != 'Available' AND uid_key NOT IN (SELECT volume_key FROM bindings WHERE {{listed "volume_key" "never_bound"}})
{{- else}}
    WHERE phase != 'Available' AND uid_key NOT IN (SELECT volume_key FROM bindings)
{{- end}}
),
