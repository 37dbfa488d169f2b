{{- /* Included by other reports: the claims that pods of {workload} had mounted between {since} and {until}. The list is made once, however
often a report includes it. */ -}}
SELECT c.1, c.2 FROM
           (
               SELECT arrayJoin(
               (
                   SELECT groupUniqArray((cluster, claim_uid)) FROM mounts FINAL
                   WHERE {{template "in_namespaces.sql"}} AND {{template "of_workload.sql"}}
                     AND claim_uid != '' AND {{template "in_window.sql"}}
               )) AS c
           )
