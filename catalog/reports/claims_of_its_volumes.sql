{{- /* Included by use_claims.sql and use_mounts_of.sql: the claims that the volumes in its_volumes have or had. */ -}}
SELECT cluster, claim_uid FROM bindings WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
                                        UNION ALL SELECT cluster, uid FROM claims FINAL WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
