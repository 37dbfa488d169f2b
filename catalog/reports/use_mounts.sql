{{- /* Included by use_pieces.sql: the mounts of claims that a filter leaves, in what of the window the rollup does not have. */ -}}
claim_uid != ''
          AND ({cluster:String} = '' OR cluster = {cluster:String})
          AND ({namespace:String} = '' OR namespace = {namespace:String})
          AND ({volume:String} = '' OR (cluster, claim_uid) IN (SELECT cluster, claim_uid FROM bindings WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
                                        UNION ALL SELECT cluster, uid FROM claims FINAL WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)))
          AND ({owner:String} = '' OR (cluster, namespace) IN
               (SELECT cluster, namespace FROM pods WHERE owner = {owner:String} UNION ALL SELECT cluster, namespace FROM claims WHERE owner = {owner:String}))
          AND ({group:String} = '' OR (cluster, namespace) IN
               (SELECT cluster, namespace FROM pods WHERE has(groups, {group:String}) UNION ALL SELECT cluster, namespace FROM claims WHERE has(groups, {group:String})))
          AND ({workload:String} = '' OR (cluster, namespace, pod_created_at) IN
               (SELECT cluster, namespace, created_at FROM pods WHERE ({namespace:String} = '' OR namespace = {namespace:String}) AND workload_name IN ({workload:String}, substring({workload:String}, position({workload:String}, '/') + 1))
                UNION ALL
                SELECT cluster, namespace, created_at FROM pods WHERE ({namespace:String} = '' OR namespace = {namespace:String}) AND name IN ({workload:String}, substring({workload:String}, position({workload:String}, '/') + 1)) AND workload_name = ''))
          AND {{template "in_edges.sql"}}
