{{- /* Included by reports that read usage: the namespaces of the claims that the volumes of volume_hashes have or had, where their measurements lie. */ -}}
(cluster, namespace) IN
              (
                  SELECT cluster, claim_namespace FROM volumes WHERE {{listed "cluster, uid" "volume_hashes"}}
                  UNION ALL
                  SELECT cluster, namespace FROM claims
                  WHERE ({{hashes "cluster, uid"}}) IN
                        (SELECT {{hashes "cluster, claim_uid"}} FROM bindings WHERE {{listed "cluster, volume_uid" "volume_hashes"}})
              )
