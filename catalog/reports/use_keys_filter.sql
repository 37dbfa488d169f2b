{{- /* Included by use_keys.sql: where the mounts can be that the flags choose. */ -}}
claim_uid != ''
          AND {{template "uses_of.sql"}}
          AND ({volume:String} = '' OR (cluster, claim_uid) IN (SELECT cluster, claim_uid FROM bindings WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
                                        UNION ALL SELECT cluster, uid FROM claims FINAL WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)))
