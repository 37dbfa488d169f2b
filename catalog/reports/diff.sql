-- What differs between two moments. Objects that came and went in between make no difference. Sizes come from the
-- changes in between. A change that nobody watched counts at the latest moment at which it can have been. Mounts are
-- counted by their pods' workload. A volume counts for the claim that it had at the second moment, or had last unless it was
-- available again. Each table that needs FINAL has it.
{{- $chosen := given "namespace" "owner" "group"}}
WITH
{{template "claims_of_workload.sql"}}
{{template "of_class.sql"}}
{{if given "owner" "group"}}
(SELECT groupArray(uid_key) FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}) AS claim_keys,
{{end}}
{{template "stays_then.sql"}}
existing AS
(
    SELECT
        v.cluster AS cluster, 'PersistentVolume' AS kind, v.uid_key AS uid_key, v.name AS name, v.storage_class AS storage_class, h.claim_key AS claim_key,
        h.claim_namespace AS claim_namespace, v.created_at AS created_at, v.deleted_at AS deleted_at
    FROM
    (
        SELECT cluster, uid_key, name, storage_class, created_at, deleted_at FROM volumes FINAL
{{- if $chosen}}
        PREWHERE uid_key IN (SELECT volume_key FROM bindings WHERE {{template "in_namespaces.sql"}}) OR {{listed "uid_key" "never_bound"}}
{{- end}}
    ) AS v
    {{if $chosen}}INNER{{else}}LEFT{{end}} JOIN (SELECT volume_key, claim_key, claim_namespace FROM had{{if $chosen}} WHERE {{template "of_claim_keys.sql"}}{{end}}) AS h
        ON h.volume_key = v.uid_key
    UNION ALL
    SELECT cluster, 'PersistentVolumeClaim', uid_key, name, storage_class, uid_key, toString(namespace), created_at, deleted_at FROM claims AS c FINAL
    WHERE {{template "claim_filter.sql"}}
),
-- The first and the last size of each object in between, as requested and as it was.
resizes AS
(
    SELECT object_key, kind, groupArray((action, size_before, size_after)) AS sizes
    FROM
    (
        SELECT
            {{key "cluster, uid"}} AS object_key, toString(kind) AS kind, toString(action) AS action,
            splitByString(' → ', argMin(details, changed_at))[1] AS size_before,
            splitByString(' → ', argMax(details, changed_at))[2] AS size_after
        FROM
        (
            -- Two trackers can have dated the same change differently, one of them before the window.
            SELECT cluster, kind, uid, action, details, min(at) AS changed_at
            FROM changes FINAL
            PREWHERE action IN ('resized', 'resize_requested')
            WHERE kind IN ('PersistentVolume', 'PersistentVolumeClaim')
{{- if $chosen}}
              AND (namespace = '' OR {{template "in_namespaces.sql"}}) -- a volume has no namespace
{{- end}}
              AND at <= {until:DateTime64(6, 'UTC')}
            GROUP BY cluster, kind, uid, action, details, resource_version
            HAVING changed_at > {since:DateTime64(6, 'UTC')}
        )
        GROUP BY object_key, kind, action
        HAVING size_before != size_after
    )
    GROUP BY object_key, kind
),
differences AS
(
    SELECT
        cluster, kind, name, storage_class, claim_key, claim_namespace, its.1 AS difference, its.2 AS before, its.3 AS after
    FROM
    (
        SELECT
            o.*, r.sizes AS its_resizes,
            (created_at IS NULL OR created_at <= {since:DateTime64(6, 'UTC')}) AND (deleted_at IS NULL OR deleted_at > {since:DateTime64(6, 'UTC')}) AS existed_before,
            (created_at IS NULL OR created_at <= {until:DateTime64(6, 'UTC')}) AND (deleted_at IS NULL OR deleted_at > {until:DateTime64(6, 'UTC')}) AS exists_after
        FROM existing AS o LEFT JOIN resizes AS r ON r.object_key = o.uid_key AND r.kind = o.kind
    )
    ARRAY JOIN multiIf(existed_before AND exists_after, its_resizes, existed_before, [('went', '', '')], exists_after, [('came', '', '')], []) AS its
    UNION ALL
    SELECT
        o.cluster, 'PersistentVolume', o.name, o.storage_class, b.claim_key, b.claim_namespace,
        if(b.bound_before, 'released', 'bound'),
        if(b.bound_before, b.claim, ''), if(b.bound_before, '', b.claim)
    FROM
    (
        SELECT cluster, uid_key, name, storage_class FROM volumes FINAL
{{- if $chosen}}
        -- identity keeps ClickHouse from comparing claims with the primary key of bindings, which takes longer than to read all of it.
        PREWHERE uid_key IN
                 (
                     SELECT volume_key FROM (SELECT volume_key, identity(claim_key) AS claim_key, namespace AS claim_namespace FROM bindings WHERE {{template "in_namespaces.sql"}})
                     WHERE {{template "of_claim_keys.sql"}}
                 )
{{- end}}
    ) AS o
    INNER JOIN
    (
        SELECT
            volume_key, claim_key, toString(namespace) AS claim_namespace, concat(namespace, '/', any(claim_name)) AS claim,
            max({{template "bound_then.sql" "since"}}) AS bound_before,
            max({{template "bound_then.sql" "until"}}) AS bound_after
        FROM bindings FINAL
{{- if $chosen}}
        PREWHERE {{template "in_namespaces.sql"}}
{{- if given "owner" "group"}}
             AND {{listed "identity(claim_key)" "claim_keys"}}
{{- end}}
{{- end}}
        GROUP BY volume_key, claim_key, namespace
        HAVING bound_before != bound_after
    ) AS b ON o.uid_key = b.volume_key
)
SELECT *
FROM
(
    SELECT
        d.cluster AS cluster, d.kind AS kind, d.claim_namespace AS namespace, d.name AS name, d.difference AS difference, d.before AS before, d.after AS after
    FROM differences AS d
    WHERE true{{filter "d.cluster" "d.storage_class"}}
{{- if given "workload"}}
      AND {{listed "d.claim_key" "workload_claims"}}
{{- end}}
    UNION ALL
    SELECT cluster, toString(workload_kind), toString(namespace), toString(workload_name), 'mounts',
        toString(countIf(started_at <= {since:DateTime64(6, 'UTC')} AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')}))) AS before,
        toString(countIf(ended_at IS NULL OR ended_at > {until:DateTime64(6, 'UTC')})) AS after
    FROM mounts FINAL
    PREWHERE pod_created_at IN (SELECT pod_created_at FROM mounts WHERE {{template "diff_mounts.sql"}} AND {{template "in_namespaces.sql"}})
    WHERE {{template "diff_mounts.sql"}} AND {{template "mount_filter.sql"}}
    GROUP BY cluster, namespace, workload_kind, workload_name
    HAVING before != after
)
ORDER BY cluster, difference = 'mounts', kind, namespace, name, difference, before, after
LIMIT {limit:UInt64}
