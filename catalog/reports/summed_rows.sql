{{- /* Included by other reports: selects the rows of mounts_quarterly between {quarters_begin} and {quarters_end}, whether
they fit the window or not. */ -}}
quarter >= {quarters_begin:DateTime64(6, 'UTC')} AND quarter < {quarters_end:DateTime64(6, 'UTC')} AND pods != 0
  AND until = least(addQuarters(quarter, 1), toDate({quarters_end:DateTime64(6, 'UTC')}))
