{{- /* Included by use_pieces.sql: the keys of the mounts of claims in what of the window the rollup does not have. Each part has an index that leaves out what is long over. */ -}}
SELECT cluster, namespace, claim_name, pod_created_at FROM mounts
        WHERE {{template "use_keys_filter.sql" .}}
          AND {{template "in_edge.sql" "before"}}
        UNION ALL
        SELECT cluster, namespace, claim_name, pod_created_at FROM mounts
        WHERE {{template "use_keys_filter.sql" .}}
          AND {{template "in_edge.sql" "after"}}
