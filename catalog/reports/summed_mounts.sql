{{- /* Included by history.sql, pods-per-volume.sql and what they find first, behind uses_chosen.sql: the selected rows
of mounts_quarterly that fit the window. They replace the mounts that uses_chosen.sql leaves out. */ -}}
SELECT *, claim_key, volume_key, place_hash, row_hash
FROM mounts_quarterly FINAL {{template "prewhere_found.sql" .}}
WHERE {{template "in_quarters.sql"}} AND {{if found .}}{{template "source_found.sql"}} AND {{end}} {{template "in_namespaces.sql"}} AND {{template "whose.sql"}}
