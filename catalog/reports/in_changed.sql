{{- /* Included by uses_chosen.sql, others_touched.sql and idle_candidates.sql, in statements that have the table changed of
changed_claims.sql. Selects the mounts that a report reads itself, because the sums of their claim and quarter do not fit the window:
a mount was written after the quarter was summed up, say. It compares columns of the sorting key alone. Argument: the kind of
window, a space, and "last" for the mounts of the last quarter or "before" for those of the quarters before it. Most changes are in
the last quarter, and one condition for all quarters would look for the claims of the last one in all of them. The hash of a claim is
half the work of a key, and few rows have one of these hashes: of the others, ClickHouse computes no key. */ -}}
pod_created_at >= {{if last .}}{{template "last_quarter.sql"}}{{else}}{quarters_begin:DateTime64(6, 'UTC')}{{end}}
      AND pod_created_at < {{if last .}}{quarters_end:DateTime64(6, 'UTC')}{{else}}{{template "last_quarter.sql"}}{{end}}
      AND indexHint((cluster, namespace, claim_name) IN
          (
              SELECT cluster, namespace, claim_name FROM changed
              WHERE quarter_number {{if last .}}={{else}}<{{end}} toYYYYMM({{template "last_quarter.sql"}})
{{- if found .}} AND {{template "claim_found.sql"}}{{end}}
          ))
      AND cityHash64(cluster, namespace, claim_name) IN
          (
              SELECT cityHash64(cluster, namespace, claim_name) FROM changed
              WHERE quarter_number {{if last .}}={{else}}<{{end}} toYYYYMM({{template "last_quarter.sql"}})
          )
      AND {{key "cluster, namespace, claim_name, toYYYYMM(toStartOfQuarter(pod_created_at))"}} IN (SELECT {{key "cluster, namespace, claim_name, quarter_number"}} FROM changed)
{{- if found .}}
      AND {{template "claim_found.sql"}}
{{- end}}
