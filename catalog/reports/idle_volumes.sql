{{- /* Included by idle_candidates.sql, with the column of a volume's UID: the chosen volumes. */ -}}
({cluster:String} = '' OR cluster = {cluster:String}) AND ({{template "unfiltered.sql"}} OR {{listed (print "cluster, " .) "volume_hashes"}})
