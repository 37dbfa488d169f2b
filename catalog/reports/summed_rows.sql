{{- /* Included by other reports, with the parameters of quarters.sql: selects the rows of mounts_quarterly in the
window, whether they fit it or not. */ -}}
quarter >= {quarters_begin:DateTime64(6, 'UTC')} AND quarter < {quarters_end:DateTime64(6, 'UTC')} AND pods != 0
  AND until = least(addQuarters(quarter, 1), toDate({quarters_end:DateTime64(6, 'UTC')}))
