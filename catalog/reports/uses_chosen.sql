{{- /* Included by uses.sql, history.sql, pods-per-volume.sql and volumes-per-pod.sql: the mounts that were in use between {since} and {until}. They are chosen first, so that only their
claims and volumes are read, by their keys: touched are the keys of all rows that may be asked for, of rows that were replaced since, too,
so that the index of ends can leave out what is long over; chosen are the rows as FINAL has them; owned are these with their claims.
It is given the kind of window, "ever" for all of the history, or "at" if the report chooses by the volumes. */ -}}
(SELECT groupArray((cluster, uid)) FROM ({{template "named_volumes.sql"}}) WHERE {volume:String} != '') AS its_volumes,
(
    SELECT groupArray((cluster, namespace, name))
    FROM claims FINAL
    WHERE {volume:String} != ''
      AND ((cluster, uid) IN (SELECT cluster, claim_uid FROM bindings FINAL WHERE (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
           OR (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
) AS its_claims,
{{template "its_namespaces.sql" .}},
touched AS
(
    SELECT cluster, namespace, claim_name, pod_created_at, pod_uid, claim_uid, volume_uid, source_id
    FROM mounts
    WHERE {{template "uses_filter.sql" .}}
),
{{- if eq . "window"}}
(SELECT if(count() = 0, {until:DateTime64(6, 'UTC')}, min(pod_created_at)) FROM touched) AS oldest,
{{- end}}
chosen AS
(
    SELECT *, started_not_before, ended_not_before
    FROM mounts FINAL
    WHERE {{template "uses_filter.sql" .}}
{{- if eq . "window"}}
      AND pod_created_at >= oldest
{{- else if ne . "ever"}}
      AND (cluster, namespace, claim_name, pod_created_at) IN (SELECT cluster, namespace, claim_name, pod_created_at FROM touched)
{{- end}}
      -- A mount that was written before its volume was known has the volume of its claim.
      AND ({volume:String} = '' OR has(its_volumes, (cluster, volume_uid)) OR volume_uid = '' AND (cluster, claim_uid) IN
           (SELECT cluster, uid FROM claims FINAL WHERE (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v))))
),
-- Owner and groups are those of the pod, else those of its claim.
-- A mount that was written before its volume was known has the volume of its claim.
owned AS
(
    SELECT
        m.cluster AS cluster,
        m.namespace AS namespace,
        m.pod_uid AS pod_uid,
        m.pod_created_at AS pod_created_at,
        if(m.owner != '', m.owner, c.owner) AS owner,
        if(notEmpty(m.groups), m.groups, c.groups) AS groups,
        concat(m.workload_kind, '/', m.workload_name) AS workload,
        m.container AS container,
        m.mount_path AS mount_path,
        m.read_only AS read_only,
        m.claim_uid AS claim_uid,
        m.claim_name AS claim,
        if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid,
        c.storage_class AS claim_class,
        m.source_kind AS source,
        m.source_id AS source_id,
        m.started_at AS started_at,
        m.started_not_before AS started_not_before,
        m.ended_at AS ended_at,
        m.ended_not_before AS ended_not_before,
        m.end_reason AS end_reason
    FROM chosen AS m
    LEFT JOIN
    (
        SELECT cluster, uid, volume_uid, storage_class, owner, groups
        FROM claims FINAL
{{- if eq . "window"}}
        WHERE {{template "uses_of.sql" .}} AND ({volume:String} = '' OR (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched))
{{- else}}
        WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched)
{{- end}}
    ) AS c ON {{same "c.cluster, c.uid" "m.cluster, m.claim_uid"}}
)
