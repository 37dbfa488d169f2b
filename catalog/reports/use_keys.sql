{{- /* Included by use_pieces.sql: the keys of the mounts in the two parts of the window that the rollup does not cover.
For each part, an index skips the mounts that were over before. */ -}}
SELECT cluster, namespace, claim_name, pod_created_at FROM mounts
        WHERE {{template "use_keys_filter.sql" .}}
          AND {{template "in_edge.sql" "before"}}
        UNION ALL
        SELECT cluster, namespace, claim_name, pod_created_at FROM mounts
        WHERE {{template "use_keys_filter.sql" .}}
          AND {{template "in_edge.sql" "after"}}
