{{- /* Included by mount_filter.sql, over mounts, behind of_class.sql: those of {storageclass}, which is that of the volume, else that of the claim. A mount that was
written before its volume was known has the volume of its claim. */ -}}
({storageclass:String} = ''
           OR volume_uid = '' AND ({{hashes "cluster, claim_uid"}}) IN (SELECT h.1, h.2 FROM (SELECT arrayJoin(claims_of_class) AS h))
           OR volume_uid != ''
          AND (({{hashes "cluster, volume_uid"}}) IN (SELECT h.1, h.2 FROM (SELECT arrayJoin(volumes_of_class) AS h))
               OR ({{hashes "cluster, claim_uid"}}) IN (SELECT h.1, h.2 FROM (SELECT arrayJoin(claims_naming_class) AS h))
              AND ({{hashes "cluster, volume_uid"}}) NOT IN (SELECT h.1, h.2 FROM (SELECT arrayJoin(volumes_of_others) AS h))))