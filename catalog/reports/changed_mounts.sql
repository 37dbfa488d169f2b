{{- /* Included by other reports, with the parameters of quarters.sql: selects the mounts that were written after their
quarter was summed up. */ -}}
pod_created_at >= {quarters_begin:DateTime64(6, 'UTC')} AND pod_created_at < {quarters_end:DateTime64(6, 'UTC')}
          AND version > {least_version:UInt64} AND version > {summed_versions:Map(UInt64, UInt64)}[cityHash64(cluster)]
