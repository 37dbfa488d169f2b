{{- /* Included by other reports, behind its_volumes.sql, with the column that has the name of a claim: selects the rows of the claims
that the volumes of {volume} have or had, by columns of the sorting key. A claim of the same name may have had another
volume: each report also compares volumes. */ -}}
{{if given "volume"}}(cluster, namespace, {{.}}) IN (SELECT c.1, c.2, c.3 FROM (SELECT arrayJoin(its_claims) AS c)){{else}}true{{end}}
