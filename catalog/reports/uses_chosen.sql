{{- /* Included by uses.sql, at.sql, static.sql, volumes_of_pods.sql, and history.sql and pods-per-volume.sql with what
they find first: the selected mounts that were in use between {since} and {until}. touched has all rows that may match,
read without FINAL, so that the index of ended_at skips the mounts that were over before; replaced rows may add some.
chosen has the current rows. Its argument is the kind of window; "ever" for the whole history, by cluster and volume alone; "at" if the report selects
by volumes; "quarters" to leave out the mounts that summed_mounts.sql replaces; one of these behind "found" to select
only claims in the table found; or "most" for the pods of of_most.sql. */ -}}
{{template "its_volumes.sql"}}
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
    FROM mounts FINAL
{{- if or (eq . "now") (eq . "moment") (eq . "at")}}
    -- When the pods of all rows that may match were created, as touched does: one number of the sorting key. So ClickHouse
    -- reads the other columns only where it matches, and WHERE compares them only for pods of the same seconds.
    PREWHERE pod_created_at IN (SELECT pod_created_at FROM mounts WHERE {{if eq . "at"}}{{template "uses_filter.sql" "at"}}{{else}}{{template "uses_filter.sql" "touched"}}{{end}})
{{- else}} {{template "prewhere_found.sql" .}}
{{- end}}
    WHERE {{template "uses_filter.sql" .}}
{{- if quarters .}}
      AND pod_created_at >= oldest AND {{template "outside_quarters.sql" "pod_created_at"}}
{{- else if or (eq . "window") (eq . "most") (found .)}}
      AND pod_created_at >= oldest
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
