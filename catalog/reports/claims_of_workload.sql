{{- /* Included by other reports: the keys of the claims that pods of {workload} had mounted between {since} and {until}. The list is made once, however
often a report includes it. */ -}}
SELECT arrayJoin(
           (
               SELECT groupUniqArray({{key "cluster, claim_uid"}}) FROM mounts FINAL
               WHERE {{template "in_namespaces.sql"}} AND {{template "of_workload.sql"}}
                 AND claim_uid != '' AND {{template "in_window.sql"}}
           ))
