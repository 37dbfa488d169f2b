{{- /* Included by other reports, which have a table changed of changed_claims.sql: whether a mount is one of those that the sums of its quarter are not right for; all of it by columns of the sorting key. It
is given the kind of window and "last" for the mounts of the last quarter, in which most changes, or "before": in one condition, the claims of that quarter would have all quarters read. */ -}}
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
