{{- /* Included by other reports: the volumes that the claims of chosen_claims.sql have or had. */ -}}
SELECT cluster, volume_uid FROM claims
           WHERE volume_uid != '' AND (cluster, uid) IN
          ({{template "chosen_claims.sql"}})
           UNION DISTINCT
           SELECT cluster, volume_uid FROM bindings
           WHERE (cluster, claim_uid) IN
          ({{template "chosen_claims.sql"}})
