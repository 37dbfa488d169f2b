{{- /* Included by use_rolled.sql: the rows that the flags choose. */ -}}
{{template "uses_of.sql"}}
      AND ({owner:String} = '' OR owner = {owner:String})
      AND ({group:String} = '' OR has(groups, {group:String}))
      AND ({volume:String} = '' OR (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes))
      AND ({workload:String} = '' OR workload_name = {workload:String} OR concat(workload_kind, '/', workload_name) = {workload:String})
