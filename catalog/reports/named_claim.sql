{{- /* Included by other reports, over volumes: the names of the claim that a volume is bound to or was released from, also of one that
was gone before the first tracker came and has no row. They are empty if an administrator has named a claim that did not come. */ -}}
if(volumes.claim_uid = '', '', toString(volumes.claim_namespace)) AS claim_namespace, if(volumes.claim_uid = '', '', volumes.claim_name) AS claim_name
