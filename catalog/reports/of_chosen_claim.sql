{{- /* Included by at.sql and volume_then.sql, over rows with claim_key and claim_namespace: selects those of the claims
that match --namespace, --owner and --group, one of which is given. Only the row of a claim has its owner; its
namespace is known without that row, too. */ -}}
{{if given "owner" "group"}}claim_key IN (SELECT uid_key FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}){{else}}claim_namespace = {namespace:String}{{end}}
