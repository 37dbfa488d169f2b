{{- /* Included by use_pieces.sql: the keys of the mounts of claims in what of the window the rollup does not have: before first_edge and after last_edge.
Each part has an index that leaves out what is long over. A container can have started before its pod was created, by a node's clock that is behind:
a day is more than any clock that is used. */ -}}
SELECT cluster, namespace, claim_name, pod_created_at FROM mounts
        WHERE {{template "use_keys_filter.sql" .}}
          AND pod_created_at < fromUnixTimestamp64Micro(first_edge + 86400000000, 'UTC') AND (ended_at IS NULL OR ended_at >= fromUnixTimestamp64Micro(began_micros, 'UTC'))
        UNION ALL
        SELECT cluster, namespace, claim_name, pod_created_at FROM mounts
        WHERE {{template "use_keys_filter.sql" .}}
          AND pod_created_at < fromUnixTimestamp64Micro(ended_micros + 86400000000, 'UTC') AND (ended_at IS NULL OR ended_at >= fromUnixTimestamp64Micro(last_edge, 'UTC'))
