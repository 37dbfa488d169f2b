{{- /* Included by reports that read usage: the namespaces of the claims that the volumes in "picked" have or had, where their measurements
lie. picked has cluster, uid, claim_uid and claim_namespace. */ -}}
(cluster, namespace) IN
              (
                  SELECT cluster, claim_namespace FROM picked
                  UNION ALL
                  SELECT cluster, namespace FROM claims
                  WHERE (cluster, uid) IN
                        (
                            SELECT cluster, claim_uid FROM bindings
                            WHERE ({{hashes "cluster, volume_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM picked)
                              AND ({{hashes "cluster, claim_uid"}}) NOT IN (SELECT {{hashes "cluster, claim_uid"}} FROM picked)
                        )
              )
