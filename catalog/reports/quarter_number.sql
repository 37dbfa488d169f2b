{{- /* Included by other reports, with the first day of a quarter: its year and month as a number. */ -}}
toYYYYMM({{.}})