{{- /* Included by uses_chosen.sql, mounts.sql, mounts-first.sql and counts.sql: the namespaces of the pods and claims that --owner and --group choose.
"at" has the namespaces of all claims of the volumes that such claims had. Nothing is read without these flags. */ -}}
(
    SELECT groupUniqArray((cluster, namespace))
    FROM
    (
{{- if eq . "at"}}
        SELECT cluster, namespace FROM claims
        WHERE ({owner:String} != '' OR {group:String} != '') AND (cluster, uid) IN
              (
                  SELECT cluster, claim_uid FROM bindings WHERE (cluster, volume_uid) IN
                  (
                      SELECT cluster, volume_uid FROM bindings WHERE (cluster, claim_uid) IN
                      (
                          SELECT cluster, uid FROM claims
                          WHERE (cluster, namespace) IN (SELECT cluster, namespace FROM owner_namespaces WHERE owner = {owner:String} OR has(groups, {group:String}))
                            AND ({owner:String} != '' AND owner = {owner:String} OR {group:String} != '' AND has(groups, {group:String}))
                      )
                  )
              )
{{- else}}
        SELECT cluster, namespace FROM owner_namespaces WHERE {owner:String} != '' AND owner = {owner:String} OR {group:String} != '' AND has(groups, {group:String})
{{- end}}
    )
) AS its_namespaces
