{{- /* Included by other reports, with the name of an array of volumes' keys: the clusters and namespaces of all claims
that these volumes have or had. */ -}}
SELECT cluster, namespace FROM bindings WHERE {{listed "volume_key" .}}
                  UNION ALL
                  SELECT cluster, namespace FROM claims WHERE {{listed "volume_key" .}}
                  UNION ALL
                  SELECT cluster, claim_namespace FROM volumes WHERE {{listed "uid_key" .}}
