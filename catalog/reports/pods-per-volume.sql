-- How many pods used each volume, at a moment or in a window, most first. The class is that of the volume, else that of the claim.
-- Millions of mounts can be in a window. So pods are counted by claim before claims and volumes are read, and nodes and workloads are looked up for the volumes that
-- are shown.
WITH
{{template "uses_chosen.sql" .}},
sums AS
(
    SELECT
        any(m.cluster) AS cluster, any(m.namespace) AS namespace, any(m.claim_name) AS claim_name, any(m.claim_uid) AS claim_uid, any(m.volume_uid) AS volume_uid,
        uniqExactStateIf(m.pod, m.pods_apart = 0) AS pods, sum(m.pods_apart) AS pods_apart
    FROM
    (
        SELECT cluster, namespace, claim_name, claim_uid, volume_uid, {{template "pod_hash.sql"}} AS pod, 0 AS pods_apart
        FROM chosen
        WHERE claim_uid != '' OR volume_uid != ''
{{- if eq . "quarters"}}
        UNION ALL
        SELECT cluster, namespace, claim_name, claim_uid, volume_uid, 0, pods
        FROM ({{template "summed_mounts.sql" .}})
        WHERE claim_uid != '' OR volume_uid != ''
{{- end}}
    ) AS m
    GROUP BY {{hashes "m.cluster, m.namespace, m.claim_name, m.claim_uid, m.volume_uid"}}
),
shown AS
(
    SELECT
        any(o.cluster) AS cluster, any(o.volume_uid) AS volume_uid, any(v.name) AS name,
        if(v.storage_class != '', v.storage_class, o.claim_class) AS storage_class,
        groupUniqArray(o.claim) AS claims, uniqExactMerge(o.pods) + sum(o.pods_apart) AS pods
    FROM
    (
        -- A mount that was written before its volume was known has the volume of its claim.
        SELECT
            s.cluster AS cluster, (s.namespace, s.claim_name) AS claim, if(s.volume_uid != '', s.volume_uid, c.volume_uid) AS volume_uid, c.storage_class AS claim_class,
            s.pods AS pods, s.pods_apart AS pods_apart
        FROM sums AS s
        LEFT JOIN (SELECT cluster, uid, volume_uid, storage_class FROM claims FINAL WHERE {{template "uses_of.sql" .}}) AS c
            ON {{same "c.cluster, c.uid" "s.cluster, s.claim_uid"}}
    ) AS o
    LEFT JOIN (SELECT cluster, uid, name, storage_class FROM volumes FINAL) AS v ON {{same "v.cluster, v.uid" "o.cluster, o.volume_uid"}}
    WHERE o.volume_uid != '' AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
    GROUP BY {{hashes "o.cluster, o.volume_uid"}}, storage_class
    ORDER BY pods DESC, cluster, name, volume_uid, storage_class
    LIMIT {limit:UInt64}
),
(SELECT groupArray((cluster, volume_uid, name, storage_class, claims, pods)) FROM shown) AS volumes_shown,
arrayDistinct(arrayFlatten(arrayMap(v -> arrayMap(c -> (v.1, c.1, c.2), v.5), volumes_shown))) AS claims_shown
SELECT
    l.1 AS cluster,
    l.3 AS persistentvolume,
    arraySort(arrayMap(c -> concat(c.1, '/', c.2), l.5)) AS claims,
    l.4 AS storage_class,
    l.6 AS pods,
    arraySort(n.nodes) AS nodes,
    arraySort(n.workloads) AS workloads
FROM (SELECT arrayJoin(volumes_shown) AS l) AS listed
LEFT JOIN
(
    SELECT
        any(m.cluster) AS cluster, any(m.volume_uid) AS volume_uid, if(v.storage_class != '', v.storage_class, m.claim_class) AS storage_class,
        groupUniqArrayArray(m.nodes) AS nodes, groupUniqArrayArray(m.workloads) AS workloads
    FROM
    (
        SELECT m.cluster AS cluster, if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid, c.storage_class AS claim_class, m.nodes AS nodes, m.workloads AS workloads
        FROM
        (
            SELECT
                m.cluster AS cluster, m.claim_uid AS claim_uid, m.volume_uid AS volume_uid,
                groupUniqArray(toString(p.node)) AS nodes, groupUniqArray(concat(m.workload_kind, '/', m.workload_name)) AS workloads
            FROM
            (
                SELECT cluster, uid, node FROM pods FINAL
                WHERE (cluster, namespace) IN (SELECT c.1, c.2 FROM (SELECT arrayJoin(claims_shown) AS c)) AND created_at >= oldest AND created_at <= {until:DateTime64(6, 'UTC')}
{{- if eq . "quarters"}}
                  AND {{template "outside_quarters.sql" "created_at"}}
                UNION ALL
                SELECT cluster, uid, node FROM pods FINAL
                WHERE (cluster, namespace) IN (SELECT c.1, c.2 FROM (SELECT arrayJoin(changed) AS c)) AND (cluster, namespace) IN (SELECT c.1, c.2 FROM (SELECT arrayJoin(claims_shown) AS c))
                  AND created_at >= {quarters_begin:DateTime64(6, 'UTC')} AND created_at < {quarters_end:DateTime64(6, 'UTC')}
{{- end}}
            ) AS p
            RIGHT JOIN (SELECT * FROM ({{template "shown_mounts.sql" .}}) WHERE {{template "whose.sql"}}) AS m ON {{same "p.cluster, p.uid" "m.cluster, m.pod_uid"}}
            GROUP BY cluster, claim_uid, volume_uid
{{- if eq . "quarters"}}
            UNION ALL
            SELECT cluster, claim_uid, volume_uid, groupUniqArrayArray(CAST(nodes, 'Array(String)')), groupUniqArray(concat(workload_kind, '/', workload_name))
            FROM mounts_quarterly FINAL
            WHERE {{template "in_quarters.sql"}} AND {{template "of_shown.sql"}} AND {{template "whose.sql"}}
            GROUP BY cluster, claim_uid, volume_uid
{{- end}}
        ) AS m
        LEFT JOIN
        (
            SELECT cluster, uid, volume_uid, storage_class FROM claims FINAL WHERE (cluster, namespace, name) IN (SELECT c.1, c.2, c.3 FROM (SELECT arrayJoin(claims_shown) AS c))
        ) AS c ON {{same "c.cluster, c.uid" "m.cluster, m.claim_uid"}}
    ) AS m
    LEFT JOIN
    (
        SELECT cluster, uid, storage_class FROM volumes FINAL WHERE (cluster, uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(volumes_shown) AS v))
    ) AS v ON {{same "v.cluster, v.uid" "m.cluster, m.volume_uid"}}
    GROUP BY {{hashes "m.cluster, m.volume_uid"}}, storage_class
) AS n ON {{same "n.cluster, n.volume_uid, n.storage_class" "l.1, l.2, l.4"}}
ORDER BY pods DESC, cluster, persistentvolume, l.2, storage_class
