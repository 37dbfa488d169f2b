{{- /* Included by reports that read usage, with the name of an array of keys of volumes: the namespaces of the claims that these have or had, where their measurements lie. */ -}}
(cluster, namespace) IN
              (
                  SELECT cluster, claim_namespace FROM volumes WHERE {{listed "uid_key" .}}
                  UNION ALL
                  SELECT cluster, namespace FROM claims
                  WHERE uid_key IN
                        (SELECT claim_key FROM bindings WHERE {{listed "volume_key" .}})
              )
