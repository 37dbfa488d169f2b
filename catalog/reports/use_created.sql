{{- /* Included by use_pieces.sql and use_times.sql: created, when the pods were created that used a claim in the two
parts of the window that the rollup does not cover, behind the arrays and lists that the flags need. For each part, an
index skips the mounts that were over before. */ -}}
{{template "its_volumes.sql"}}
created AS
(
    SELECT pod_created_at FROM mounts
    WHERE {{template "use_mounts_of.sql" .}} AND {{template "in_edge.sql" "before"}}
    UNION ALL
    SELECT pod_created_at FROM mounts
    WHERE {{template "use_mounts_of.sql" .}} AND {{template "in_edge.sql" "after"}}
)
