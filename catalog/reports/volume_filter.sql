{{- /* Included by other reports: a volume is chosen by its class, and else by the claim that it is bound to or was released from. */ -}}
({storageclass:String} = '' OR storage_class = {storageclass:String})
      AND (concat({namespace:String}, {owner:String}, {group:String}, {workload:String}) = '' OR ({{hashes "cluster, claim_uid"}}) IN
          ({{template "chosen_claims.sql"}}))
