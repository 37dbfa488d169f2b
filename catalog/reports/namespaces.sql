-- The clusters and namespaces in which the statements of a report look for rows. They become parameters: ClickHouse
-- analyses a subquery again in each place, and an array of a WITH, too. Its argument is their name: its_namespaces for
-- those of --owner and --group, or volume_namespaces for those of all claims that the selected volumes have or had.
-- all_owned is true if each mount there has what is asked for, an owner or groups, from its pod, so that no claim tells it. all_theirs is
-- true if no pod, claim or mount there is known to be of anybody else, or of nobody.
-- There is no row if there are none, if they are too long for the address of a request, or if a name has a character
-- that has to be escaped: Go's driver escapes a parameter as a text, and ClickHouse does not read an array so.
WITH
{{if eq . "volume_namespaces"}}{{template "chosen_volumes.sql"}}{{end}}
(
    SELECT groupUniqArray((toString(cluster), toString(namespace)))
    FROM
    (
        {{if eq . "volume_namespaces"}}{{template "claim_namespaces.sql" "volume_keys"}}{{else}}{{template "namespaces_of_owner.sql"}}{{end}}
    )
    WHERE true{{filter "cluster"}}{{if eq . "its_namespaces"}}{{filter "namespace"}}{{end}}
) AS namespaces
{{- if eq . "its_namespaces"}},
(
    SELECT (
        countIf({{if given "owner"}}owner = ''{{if given "group"}} OR {{end}}{{end}}{{if given "group"}}empty(groups){{end}}),
        countIf(NOT (true{{filter "owner" "groups"}})))
    FROM owner_namespaces
    WHERE has(namespaces, (toString(cluster), toString(namespace)))
) AS others
{{- end}}
SELECT
    toString(namespaces) AS {{.}},
    toString(arrayMap((cluster, namespace) -> {{namespaceHash}}, namespaces.1, namespaces.2)) AS {{.}}_hashes
{{- if eq . "its_namespaces"}},
    if(others.1 = 0, 'true', '') AS all_owned,
    if(others.2 = 0, 'true', '') AS all_theirs
{{- end}}
WHERE notEmpty(namespaces) AND length(toString(namespaces)) + 20 * length(namespaces) <= 2000 AND position(toString(namespaces), '\\') = 0
