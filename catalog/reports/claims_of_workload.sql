{{- /* Included by other reports: the keys of the claims that pods of {workload} mounted between {since} and {until}. It
is an array, which ClickHouse computes once even if a report includes this file twice. */ -}}
SELECT arrayJoin(
           (
               SELECT groupUniqArray({{key "cluster, claim_uid"}}) FROM mounts FINAL
               WHERE {{template "in_namespaces.sql"}} AND {{template "of_workload.sql"}}
                 AND claim_uid != '' AND {{template "in_window.sql"}}
           ))
