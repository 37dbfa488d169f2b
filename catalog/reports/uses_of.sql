{{- /* Included by other reports, which have its_namespaces.sql before it: the rows of the clusters and namespaces in which something can be that the flags choose. */ -}}
({cluster:String} = '' OR cluster = {cluster:String})
      AND ({namespace:String} = '' OR namespace = {namespace:String})
      AND ({owner:String} = '' AND {group:String} = '' OR (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n)))
