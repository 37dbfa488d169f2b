-- Whether any store may be shared. In most clusters none is; then the program does not ask the report.
WITH
{{template "same-store_stores.sql"}}
SELECT 1 FROM ({{template "same-store_shared.sql"}} LIMIT 1)
