{{- /* Included by uses_chosen.sql and use_created.sql: two arrays, the volumes that {volume} names, and the claims that these
have or had, by which of_its_claims.sql finds rows. */ -}}
{{if given "volume"}}
(SELECT groupArray((cluster, uid)) FROM ({{template "named_volumes.sql"}})) AS its_volumes,
(
    SELECT groupArray((cluster, namespace, name))
    FROM claims FINAL
    WHERE (cluster, uid) IN (SELECT cluster, claim_uid FROM bindings FINAL WHERE (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)))
       OR (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v))
) AS its_claims,
{{end}}
