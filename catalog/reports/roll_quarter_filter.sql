{{- /* Included by roll_quarter.sql: selects the part of a cluster's namespaces and claims that one statement sums up. */ -}}
cluster = {cluster:String} AND namespace BETWEEN {first_namespace:String} AND {last_namespace:String}
          AND ({parts:UInt64} = 1 OR cityHash64(claim_name) % {parts:UInt64} = {part:UInt64})
