{{- /* Included by history.sql, pods-per-volume.sql and what they find first, behind uses_chosen.sql: the selected rows
of mounts_quarterly that fit the window. They replace the mounts that uses_chosen.sql leaves out. Its argument is the kind of window, or
"latest", a space and that kind for the rows of the claims in claims_found alone. place_hash depends on the sorting key alone, so PREWHERE
may compare it before FINAL. */ -}}
SELECT *, claim_key, volume_key, place_hash, row_hash
FROM mounts_quarterly FINAL {{if latest .}}PREWHERE place_hash IN (SELECT arrayJoin(claims_found)){{else}}{{template "prewhere_found.sql" .}}{{end}}
WHERE {{template "in_quarters.sql"}} AND {{if found .}}{{template "source_found.sql"}} AND {{end}} {{template "in_namespaces.sql"}} AND {{template "whose.sql"}}
