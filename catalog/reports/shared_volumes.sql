{{- /* Included by never-mounted.sql and never-mounted-moment.sql: the array shared_volumes, of the volumes that several claims have or had. */ -}}
(
    SELECT groupArray(volume_key)
    FROM (SELECT volume_key FROM bindings GROUP BY volume_key HAVING uniqExact(claim_key) > 1)
) AS shared_volumes,
