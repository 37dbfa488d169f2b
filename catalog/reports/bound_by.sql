{{- /* Included by bound_then.sql and never-mounted-moment.sql, over bindings, with the name of a parameter: selects those that had begun by that
moment. A binding that is older than the first tracker may have no known beginning: then it began after both its claim and its volume were created. */ -}}
{{$moment := printf "{%s:DateTime64(6, 'UTC')}" . -}}
ifNull(bound_at <= {{$moment}}, NOT {{template "claim_came_after.sql" .}}
    AND volume_key NOT IN (SELECT uid_key FROM volumes PREWHERE uid_key IN (SELECT volume_key FROM bindings WHERE bound_at IS NULL) WHERE created_at > {{$moment}}))
