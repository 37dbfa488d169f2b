{{- /* Included by other reports: the keys of the volumes that the claims of chosen_claims.sql have or had. */ -}}
SELECT volume_key FROM claims
           WHERE volume_uid != '' AND uid_key IN
          ({{template "chosen_claims.sql"}})
           UNION DISTINCT
           SELECT volume_key FROM bindings
           WHERE {{template "in_namespaces.sql"}} AND claim_key IN
          ({{template "chosen_claims.sql"}})
