{{- /* Included by in_changed.sql: the beginning of the last quarter that quarters.sql has found sums of. */ -}}
toDateTime64(toStartOfQuarter(toDate({quarters_end:DateTime64(6, 'UTC')}) - 1), 6, 'UTC')
