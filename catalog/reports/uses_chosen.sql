{{- /* Included by uses.sql, at.sql, static.sql, volumes_of_pods.sql, and history.sql and pods-per-volume.sql with what they find first: the mounts that were in use between {since} and {until}. They are chosen first, so that only their
claims and volumes are read, by their keys: touched are the keys of all rows that may be asked for, of rows that were replaced since, too,
so that the index of ends can leave out what is long over; chosen are the rows as FINAL has them.
It is given the kind of window, "ever" for all of the history, "at" if the report chooses by the volumes, "quarters" for a window of which summed_mounts.sql has quarters: the
mounts of these are left out; or one of these behind "found" if only what is in the table found is chosen; or "most" for the pods that of_most.sql chooses. */ -}}
{{if given "volume"}}
(SELECT groupArray((cluster, uid)) FROM ({{template "named_volumes.sql"}})) AS its_volumes,
(
    SELECT groupArray((cluster, namespace, name))
    FROM claims FINAL
    WHERE (cluster, uid) IN (SELECT cluster, claim_uid FROM bindings FINAL WHERE (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
       OR (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v))
) AS its_claims,
{{end}}
{{template "its_namespaces.sql" .}}
touched AS
(
    SELECT cluster, namespace, claim_name, pod_created_at, pod_uid, claim_uid, volume_uid, source_kind, source_id
    FROM mounts {{if eq . "most"}}PREWHERE {{template "of_most.sql"}}{{end}}
    WHERE {{template "uses_filter.sql" .}}
{{- if quarters .}}
      AND {{template "outside_quarters.sql" "pod_created_at"}}
{{- end}}
),
{{if found . -}}
(SELECT fromUnixTimestamp64Micro(min(oldest_micros), 'UTC') FROM found) AS oldest,
{{- else -}}
(SELECT if(count() = 0, {until:DateTime64(6, 'UTC')}, min(pod_created_at)) FROM touched) AS oldest,
{{- end}}
chosen AS
(
    SELECT *, started_not_before, ended_not_before
    FROM mounts FINAL {{template "prewhere_found.sql" .}}
    WHERE {{template "uses_filter.sql" .}}
{{- if quarters .}}
      AND pod_created_at >= oldest AND {{template "outside_quarters.sql" "pod_created_at"}}
{{- else if or (eq . "window") (eq . "most") (found .)}}
      AND pod_created_at >= oldest
{{- else if ne . "ever"}}
      AND {{near "cluster, namespace, claim_name, pod_created_at" "touched"}}
{{- end}}
      AND {{template "uses_of_volume.sql"}}
{{- if quarters .}}
{{- range changedParts}}
    UNION ALL
    SELECT *, started_not_before, ended_not_before
    FROM mounts FINAL
    PREWHERE {{template "in_changed.sql" (print $ " " .)}}
    WHERE {{template "uses_filter.sql" $}}
      AND {{template "uses_of_volume.sql"}}
{{- end}}
{{- end}}
)
