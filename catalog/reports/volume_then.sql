{{- /* Included by counts.sql, behind stays_then.sql: compares a volume with --storageclass, and with the other flags by the claim that it
had at {until}. A volume whose binding nobody saw has had its claim from the beginning. */ -}}
true{{filter "storage_class"}}
      AND NOT ifNull(phase = 'Available' AND phase_changed_at <= {until:DateTime64(6, 'UTC')}, 0)
      AND (uid_key IN
          (
              SELECT volume_key FROM stays LEFT JOIN phases ON phases.volume = stays.volume_key
              WHERE NOT (stays.last.3 AND phases.last.2 AND phases.last.1 > stays.bound_micros)
                AND {{if not (given "owner" "group" "workload")}}stays.last.2 = {namespace:String}{{else}}stays.last.1 IN
                    ({{template "chosen_claims.sql"}}){{end}}
          )
          OR uid_key NOT IN (SELECT volume_key FROM bindings)
             AND {{template "volume_filter.sql"}})
