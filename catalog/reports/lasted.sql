{{- /* Included by lifetimes.sql: what it says of lives. */ -}}
count() AS ended, toInt64(min(seconds)) AS shortest_seconds, toInt64(quantileExact(seconds)) AS median_seconds, toInt64(max(seconds)) AS longest_seconds
