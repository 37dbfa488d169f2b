{{- /* Included by same-store_stores.sql and left-behind.sql, over volume_sources: the columns backend, on_node, name and store.
name is empty if a source does not name its store. With "wide", sources of glusterfs in different namespaces have the same store,
as a source may leave out the namespace of its endpoints; with "exact", they do not. */ -}}
trim(concat(driver, ' ', server, if(server = '' OR path = '', '', ':'), path)) AS backend,
        kind IN ('local', 'hostPath') AS on_node,
        multiIf(
            kind = 'flexVolume' AND mapExists((k, v) -> startsWith(k, 'options.'), attributes), toString(mapSort(mapFilter((k, v) -> startsWith(k, 'options.'), attributes))),
{{- if eq . "exact"}}
            kind = 'glusterfs', concat(path, ' ', attributes['endpointsNamespace']),
{{- end}}
            kind = 'fc' AND path = '' AND server != '', '0', -- number 0 is left out
            kind = 'cephfs' AND path = '', '/',
            path) AS name,
        (if(on_node, cluster, ''), if(on_node, 'hostPath', toString(kind)), toString(driver), toString(server), name) AS store
