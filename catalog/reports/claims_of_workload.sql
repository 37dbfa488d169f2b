{{- /* Included by other reports: the claims that pods of {workload} had mounted between {since} and {until}. The list is made once, however
often a report includes it. */ -}}
SELECT c.1, c.2 FROM
           (
               SELECT arrayJoin(
               (
                   SELECT groupUniqArray((cluster, claim_uid)) FROM mounts FINAL
                   WHERE {{template "in_namespaces.sql"}} AND {{template "of_workload.sql"}}
                     AND claim_uid != '' AND pod_created_at <= {until:DateTime64(6, 'UTC')}
                     AND started_at <= {until:DateTime64(6, 'UTC')} AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
               )) AS c
           )
