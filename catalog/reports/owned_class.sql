{{- /* Included by other reports: compares o, a mount or a sum, with {storageclass}: by the class of its volume, else by
that of its claim. o has cluster, claim_uid and volume_uid. */ -}}
{{if given "storageclass"}}({{key "o.cluster, o.volume_uid"}} IN (SELECT uid_key FROM volumes FINAL WHERE storage_class = {storageclass:String})
       OR {{key "o.cluster, o.claim_uid"}} IN (SELECT uid_key FROM claims FINAL WHERE storage_class = {storageclass:String})
      AND {{key "o.cluster, o.volume_uid"}} NOT IN (SELECT uid_key FROM volumes FINAL WHERE storage_class NOT IN ('', {storageclass:String}))){{else}}true{{end}}
