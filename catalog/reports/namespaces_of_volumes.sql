{{- /* Included by reports that read usage: the namespaces of the claims that the volumes of its.sql have or had, where their measurements lie. */ -}}
(cluster, namespace) IN
              (
                  SELECT cluster, claim_namespace FROM volumes WHERE ({{hashes "cluster, uid"}}) IN (SELECT h1, h2 FROM its)
                  UNION ALL
                  SELECT cluster, namespace FROM claims
                  WHERE ({{hashes "cluster, uid"}}) IN
                        (SELECT {{hashes "cluster, claim_uid"}} FROM bindings WHERE ({{hashes "cluster, volume_uid"}}) IN (SELECT h1, h2 FROM its))
              )
