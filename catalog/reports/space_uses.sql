{{- /* Included by space_parts.sql: selects the mounts of the claims that the selected volumes have or had. An owner can have few of the claims in a
namespace: then it reads the mounts of these, and of the other claims that have or had one of the volumes. A group has most claims of its
namespaces, and comparing their names takes longer. */ -}}
{{template "in_volume_namespaces.sql"}}
{{- if given "owner"}}
                  AND (cluster, namespace, claim_name) IN
                      (
                          SELECT cluster, namespace, name FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}
                          UNION ALL
                          SELECT cluster, namespace, claim_name FROM bindings WHERE {{template "in_volume_namespaces.sql"}} AND {{listed "volume_key" "volume_keys"}}
                      )
{{- end}}
