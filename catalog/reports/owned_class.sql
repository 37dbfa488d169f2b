{{- /* Included by other reports: whether a mount or sum o, with cluster, claim_uid and volume_uid, is of {storageclass}, which is that of its volume, else that of its claim. */ -}}
{{if given "storageclass"}}({{key "o.cluster, o.volume_uid"}} IN (SELECT uid_key FROM volumes FINAL WHERE storage_class = {storageclass:String})
       OR {{key "o.cluster, o.claim_uid"}} IN (SELECT uid_key FROM claims FINAL WHERE storage_class = {storageclass:String})
      AND {{key "o.cluster, o.volume_uid"}} NOT IN (SELECT uid_key FROM volumes FINAL WHERE storage_class NOT IN ('', {storageclass:String}))){{else}}true{{end}}
