{{- /* Included by same-store.sql and same-store-first.sql: the sources whose store another source can have as well,
each with its store. */ -}}
stores AS
(
    SELECT
        cluster, id, id_key, kind,
        {{template "store_of.sql" "exact"}}
    FROM volume_sources FINAL
    WHERE kind NOT IN ('emptyDir', 'image', 'gitRepo', 'ephemeral')
      AND (kind != 'csi' OR attributes['volumeHandle'] != '')
      AND name != ''
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
