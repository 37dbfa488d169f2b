{{- /* Included by other reports: the keys of the volumes that the claims of chosen_claims.sql have or had. The
namespace of a claim that nobody saw is known by its binding, or by the volume that it left behind. An available
volume waits for the claim that it names. */ -}}
SELECT volume_key FROM claims
           WHERE volume_uid != '' AND uid_key IN
          ({{template "chosen_claims.sql"}})
           UNION DISTINCT
           SELECT volume_key FROM bindings
           WHERE {{template "in_namespaces.sql"}}
{{- if given "owner" "group" "workload"}}
             AND claim_key IN
          ({{template "chosen_claims.sql"}})
{{- end}}
           UNION DISTINCT
           SELECT uid_key FROM volumes
           WHERE claim_uid != '' AND phase != 'Available' AND {{if given "owner" "group" "workload"}}claim_key IN
          ({{template "chosen_claims.sql"}}){{else}}claim_namespace = {namespace:String}{{end}}
