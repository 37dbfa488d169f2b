{{- /* Included by other reports: the volumes that the claims of chosen_claims.sql have or had, by their hashes. */ -}}
SELECT {{hashes "cluster, volume_uid"}} FROM claims
           WHERE volume_uid != '' AND ({{hashes "cluster, uid"}}) IN
          ({{template "chosen_claims.sql"}})
           UNION DISTINCT
           SELECT {{hashes "cluster, volume_uid"}} FROM bindings
           WHERE ({{hashes "cluster, claim_uid"}}) IN
          ({{template "chosen_claims.sql"}})
