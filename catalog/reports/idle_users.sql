{{- /* Included by idle-moment.sql and idle-users.sql, behind idle_last_uses.sql: for each row, the claim that the volume had, and who used it
last. */ -}}
SELECT
    f.key AS key, toString(c.namespace) AS namespace, c.name AS claim,
    toString(l.user.3) AS last_namespace, p.name AS last_pod, concat(p.workload_kind, '/', p.workload_name) AS last_workload
FROM found AS f
LEFT ANY JOIN (SELECT its.2 AS namespace, its.3 AS name, its.4 AS volume, its.5 AS claim FROM (SELECT arrayJoin(claims_found) AS its)) AS c ON c.volume = f.key AND c.claim = f.claim_key
LEFT JOIN (SELECT arrayJoin(last_users) AS user) AS l ON l.user.1 = f.key
LEFT JOIN
(
    SELECT cluster, uid, name, workload_kind, workload_name
    FROM pods FINAL
    WHERE (cluster, namespace, created_at, uid) IN (SELECT u.2, u.3, u.4, u.5 FROM (SELECT arrayJoin(last_users) AS u))
) AS p ON p.cluster = l.user.2 AND p.uid = l.user.5
