{{- /* Included by other reports, with the alias of volumes that have the columns of named_claim.sql, and with c joined to them: the names of
a volume's claim. A claim that was gone before the first tracker came has no row. */ -}}
if(c.uid_key = 0, {{.}}.claim_namespace, c.namespace) AS namespace,
    if(c.uid_key = 0, {{.}}.claim_name, c.name) AS claim
