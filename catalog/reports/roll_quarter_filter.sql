{{- /* Included by roll_quarter.sql: the part of the namespaces and claims of a cluster that is summed up at once. */ -}}
cluster = {cluster:String} AND namespace BETWEEN {first_namespace:String} AND {last_namespace:String}
          AND ({parts:UInt64} = 1 OR cityHash64(claim_name) % {parts:UInt64} = {part:UInt64})
