{{- /* Included by other reports, with the parameters that quarters.sql answers: the rows of mounts_quarterly of the window, right or not. */ -}}
quarter >= {quarters_begin:DateTime64(6, 'UTC')} AND quarter < {quarters_end:DateTime64(6, 'UTC')} AND pods != 0
  AND until = least(addQuarters(quarter, 1), toDate({quarters_end:DateTime64(6, 'UTC')}))
