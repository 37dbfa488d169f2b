{{- /* Included by same-store.sql and same-store-first.sql: the sources whose store another source can have as well,
each with its store. */ -}}
stores AS
(
    SELECT
        cluster, id, id_key, kind,
        trim(concat(driver, ' ', server, if(server = '' OR path = '', '', ':'), path)) AS backend,
        kind IN ('local', 'hostPath') AS on_node,
        multiIf(
            kind = 'flexVolume', toString(mapSort(mapFilter((k, v) -> startsWith(k, 'options.'), attributes))),
            kind = 'glusterfs', concat(path, ' ', attributes['endpointsNamespace']),
            kind = 'fc' AND path = '' AND server != '', '0', -- number 0 is left out
            kind = 'cephfs' AND path = '', '/',
            path) AS name,
        (if(on_node, cluster, ''), if(on_node, 'hostPath', toString(kind)), toString(driver), toString(server), name) AS store
    FROM volume_sources FINAL
    WHERE kind NOT IN ('emptyDir', 'image', 'gitRepo', 'ephemeral')
      AND (kind != 'csi' OR attributes['volumeHandle'] != '')
      AND name NOT IN ('', '{}')
{{- if given "namespace" "owner" "group" "storageclass"}}
      -- The sources that can have the same store as a selected source. Sources of some kinds can name the same store by different paths.
      AND (kind IN ('flexVolume', 'glusterfs', 'fc', 'cephfs')
           OR {{key "driver, server, path"}} IN
              (
                  SELECT {{key "driver, server, path"}} FROM volume_sources
                  WHERE id_key IN
                        (
                            SELECT source_key FROM volumes FINAL
                            WHERE true{{filter "claim_namespace" "storage_class"}}
{{- if given "owner" "group"}}
                              AND claim_key IN
                                  (
                                      SELECT uid_key FROM claims FINAL
                                      WHERE true{{filter "owner" "groups"}}
                                  )
{{- end}}
{{- if given "namespace"}}
                            UNION ALL
                            SELECT {{key "cluster, source_id"}} FROM mounts
                            WHERE namespace = {namespace:String} AND claim_name = ''
{{- end}}
                        )
              ))
{{- end}}
)
