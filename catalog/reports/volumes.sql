-- The volumes that {volume} names. They become a parameter, as the namespaces of namespaces.sql do, and for the same reasons there may be
-- no row.
SELECT toString(groupArray((toString(cluster), uid))) AS named_volumes
FROM
(
{{template "named_volumes.sql"}}
)
HAVING count() > 0 AND length(named_volumes) <= 2000 AND position(named_volumes, '\\') = 0
