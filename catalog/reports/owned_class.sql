{{- /* Included behind uses_chosen.sql: whether a mount of owned is of {storageclass}, which is that of its volume, else that of its claim. */ -}}
({storageclass:String} = ''
       OR ({{hashes "o.cluster, o.volume_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM volumes FINAL WHERE storage_class = {storageclass:String})
       OR o.claim_class = {storageclass:String}
      AND ({{hashes "o.cluster, o.volume_uid"}}) NOT IN (SELECT {{hashes "cluster, uid"}} FROM volumes FINAL WHERE storage_class NOT IN ('', {storageclass:String})))
