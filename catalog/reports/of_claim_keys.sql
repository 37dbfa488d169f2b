{{- /* Included by diff.sql, over rows with claim_key and claim_namespace: of_chosen_claim.sql with the claims of --owner and --group
in the array claim_keys. */ -}}
{{if given "owner" "group"}}{{listed "claim_key" "claim_keys"}}{{else}}claim_namespace = {namespace:String}{{end}}
