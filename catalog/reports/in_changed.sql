{{- /* Included by other reports, which have a table changed of changed_claims.sql: selects the mounts whose sums do not
fit, by columns of the sorting key alone. Its argument is the kind of window and "last" or "before": most changes are in
the last quarter, and one condition for all quarters would look for the claims of the last one in all of them. */ -}}
pod_created_at >= {{if last .}}{{template "last_quarter.sql"}}{{else}}{quarters_begin:DateTime64(6, 'UTC')}{{end}}
      AND pod_created_at < {{if last .}}{quarters_end:DateTime64(6, 'UTC')}{{else}}{{template "last_quarter.sql"}}{{end}}
      AND indexHint((cluster, namespace, claim_name) IN
          (
              SELECT cluster, namespace, claim_name FROM changed
              WHERE quarter_number {{if last .}}={{else}}<{{end}} toYYYYMM({{template "last_quarter.sql"}})
{{- if found .}} AND {{template "claim_found.sql"}}{{end}}
          ))
      AND {{key "cluster, namespace, claim_name, toYYYYMM(toStartOfQuarter(pod_created_at))"}} IN (SELECT {{key "cluster, namespace, claim_name, quarter_number"}} FROM changed)
{{- if found .}}
      AND {{template "claim_found.sql"}}
{{- end}}
