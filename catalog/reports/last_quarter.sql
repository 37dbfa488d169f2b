{{- /* Included by in_changed.sql: the beginning of the last quarter of which quarters.sql found sums. */ -}}
toDateTime64(toStartOfQuarter(toDate({quarters_end:DateTime64(6, 'UTC')}) - 1), 6, 'UTC')
