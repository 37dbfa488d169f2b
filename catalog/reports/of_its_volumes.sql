{{- /* Included by its_volumes.sql and other reports behind it, with the columns of a cluster and a volume's UID: selects the
rows of the volumes in its_volumes. */ -}}
({{.}}) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v))
