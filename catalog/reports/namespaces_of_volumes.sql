{{- /* Included by reports that read usage, with the name of an array of hashes of volumes: the namespaces of the claims that these have or had, where their measurements lie. */ -}}
(cluster, namespace) IN
              (
                  SELECT cluster, claim_namespace FROM volumes WHERE {{listed "cluster, uid" .}}
                  UNION ALL
                  SELECT cluster, namespace FROM claims
                  WHERE ({{hashes "cluster, uid"}}) IN
                        (SELECT {{hashes "cluster, claim_uid"}} FROM bindings WHERE {{listed "cluster, volume_uid" .}})
              )
