{{if eq . "now" -}}
-- Space by namespace, owner, group or storage class. Claims count by what they ask for; volumes,
-- bound or released, by what they take, in the namespace and for the owner of their claim. The idle
-- part of the capacity is that of volumes that nobody uses, as in the report idle. What is
-- used is known of volumes that a kubelet has looked at, and NULL if that is none.
-- A claim of several groups counts for each of them, and one of none under the empty name.
-- Bytes are added up as Int128: two claims of 8Ei are more than an Int64 holds.
SELECT
    cluster,
    arrayJoin(groups) AS "group",
    sum(claim) AS claims,
    sum(bound) AS bound_volumes,
    sum(released) AS released_volumes,
    sum(toInt128(requested)) AS requested_bytes,
    sum(toInt128(capacity)) AS capacity_bytes,
    sum(toInt128(idle)) AS idle_bytes,
    sum(toInt128(used)) AS used_bytes
FROM
(
    SELECT
        cluster,
        multiIf(
            {by:String} = 'namespace', [toString(namespace)],
            {by:String} = 'owner', [toString(owner)],
            {by:String} = 'storageclass', [toString(storage_class)],
            empty(c.groups), [''],
            arrayDistinct(CAST(c.groups, 'Array(String)'))) AS groups,
        toInt64(1) AS claim,
        toInt64(0) AS bound,
        toInt64(0) AS released,
        requested_bytes AS requested,
        toInt64(0) AS capacity,
        toInt64(0) AS idle,
        CAST(NULL, 'Nullable(Int64)') AS used
    FROM claims AS c FINAL
    WHERE deleted_at IS NULL
      AND ({cluster:String} = '' OR cluster = {cluster:String})
      AND {{template "claim_filter.sql"}}
      AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
    UNION ALL
    SELECT
        s.cluster,
        multiIf(
            {by:String} = 'namespace', [toString(s.claim_namespace)],
            {by:String} = 'owner', [toString(s.owner)],
            {by:String} = 'storageclass', [toString(s.storage_class)],
            empty(s.groups), [''],
            arrayDistinct(CAST(s.groups, 'Array(String)'))),
        toInt64(0),
        toInt64(s.phase = 'Bound'),
        toInt64(s.phase = 'Released'),
        toInt64(0),
        s.capacity_bytes,
        toInt64(if(s.status IN ('mounted', 'pending'), 0, s.capacity_bytes)),
        l.used_bytes
    FROM
    (
        SELECT cluster, volume_uid, status, phase, claim_namespace, storage_class, owner, groups, capacity_bytes
        FROM volume_states FINAL
        WHERE status != 'deleted'
          AND phase IN ('Bound', 'Released')
          AND ({cluster:String} = '' OR cluster = {cluster:String})
          AND ({namespace:String} = '' OR claim_namespace = {namespace:String})
          AND ({owner:String} = '' OR owner = {owner:String})
          AND ({group:String} = '' OR has(groups, {group:String}))
          AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
    ) AS s
    LEFT JOIN (SELECT cluster, volume_uid, toNullable(used_bytes) AS used_bytes FROM last_usage FINAL) AS l ON sipHash128(l.cluster, l.volume_uid) = sipHash128(s.cluster, s.volume_uid)
)
GROUP BY cluster, "group"
ORDER BY capacity_bytes DESC, requested_bytes DESC, cluster, "group"
LIMIT {limit:UInt64}
{{- else if eq . "moment"}}
-- Space at a moment by namespace, owner, group or storage class: as space has it for now, put together from the lives of claims and
-- volumes. Owner and groups are those that the claim has or had last.
WITH
toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}) AS began_micros,
began_micros + 1 AS ended_micros,
{{template "windows.sql" ""}}
{{template "space_parts.sql"}}
SELECT
    cluster,
    {{template "space_by.sql"}} AS "group",
    toInt64(sum(claim_micros)) AS claims,
    toInt64(sum(bound_micros)) AS bound_volumes,
    toInt64(sum(released_micros)) AS released_volumes,
    sum(requested) AS requested_bytes,
    sum(capacity) AS capacity_bytes,
    sum(idle) AS idle_bytes,
    sum(used) AS used_bytes
FROM parts
WHERE claim_micros != 0 OR bound_micros != 0 OR released_micros != 0 OR requested != 0 OR capacity != 0
GROUP BY cluster, "group"
ORDER BY capacity_bytes DESC, requested_bytes DESC, cluster, "group"
LIMIT {limit:UInt64}
{{- else}}
-- Space over a window by namespace, owner, group or storage class, in byte-hours: a byte for an hour. Whole days come from the rollup
-- byte_seconds_daily where it has them; it has them also when the mounts and samples of then have expired. Owner and groups are those
-- that the claim has or had last.
WITH
toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')}) AS began_micros,
least(toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}), {now_micros:Int64}) AS ended_micros,
{{template "windows.sql" "rolled"}}
{{template "space_parts.sql"}}
SELECT
    cluster,
    {{template "space_by.sql"}} AS "group",
    intDiv(sum(requested), 3600000000) AS requested_byte_hours,
    intDiv(sum(capacity), 3600000000) AS capacity_byte_hours,
    intDiv(sum(idle), 3600000000) AS idle_byte_hours,
    intDiv(sum(used), 3600000000) AS used_byte_hours
FROM
(
    SELECT cluster, namespace, owner, groups, storage_class, requested, capacity, idle, used FROM parts
    UNION ALL
    SELECT cluster, toString(namespace), owner, groups, storage_class, requested_byte_seconds * 1000000, capacity_byte_seconds * 1000000, idle_byte_seconds * 1000000, used_byte_seconds * 1000000
    FROM byte_seconds_daily AS c FINAL
    WHERE day BETWEEN first_day_of_rollup AND last_day_of_rollup
      AND ({cluster:String} = '' OR cluster = {cluster:String})
      AND {{template "claim_filter.sql"}}
      AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
)
GROUP BY cluster, "group"
HAVING requested_byte_hours != 0 OR capacity_byte_hours != 0
ORDER BY capacity_byte_hours DESC, requested_byte_hours DESC, cluster, "group"
LIMIT {limit:UInt64}
{{- end}}
