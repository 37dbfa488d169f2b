{{- /* Included by other reports, over mounts, behind of_class.sql: selects the mounts of {storageclass}: the class of
the volume, else that of the claim. A mount that was written before its volume was known gets the volume of its claim.
*/ -}}
{{if given "storageclass"}}(volume_uid = '' AND {{listed (key "cluster, claim_uid") "claims_of_class"}}
           OR volume_uid != ''
          AND ({{listed (key "cluster, volume_uid") "volumes_of_class"}}
               OR {{listed (key "cluster, claim_uid") "claims_naming_class"}}
              AND NOT {{listed (key "cluster, volume_uid") "volumes_of_others"}})){{else}}true{{end}}
