{{- /* Included by in_changed.sql: the beginning of the last quarter before {quarters_end}. */ -}}
toDateTime64(toStartOfQuarter(toDate({quarters_end:DateTime64(6, 'UTC')}) - 1), 6, 'UTC')
