{{- /* Included by reports that read usage, with the name of an array of volumes' keys: the namespaces of all claims of
these volumes. usage is sorted by namespace. */ -}}
(cluster, namespace) IN
              (
                  SELECT cluster, claim_namespace FROM volumes WHERE {{listed "uid_key" .}}
                  UNION ALL
                  SELECT cluster, namespace FROM claims
                  WHERE uid_key IN
                        (SELECT claim_key FROM bindings WHERE {{listed "volume_key" .}})
              )
