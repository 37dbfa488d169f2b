{{- /* Included by other reports: whether a mount or sum is of claims_shown, an array, and of the workload that the flag chooses. */ -}}
(cluster, namespace, claim_name) IN (SELECT c.1, c.2, c.3 FROM (SELECT arrayJoin(claims_shown) AS c))
      AND ({workload:String} = '' OR workload_name = {workload:String} OR concat(workload_kind, '/', workload_name) = {workload:String})
