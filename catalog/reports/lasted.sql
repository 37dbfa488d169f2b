{{- /* Included by lifetimes.sql: how many there were, and how long they lasted. */ -}}
count() AS ended, toInt64(min(seconds)) AS shortest_seconds, toInt64(quantileExact(seconds)) AS median_seconds, toInt64(max(seconds)) AS longest_seconds
