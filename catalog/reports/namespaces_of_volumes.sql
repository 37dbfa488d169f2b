{{- /* Included by reports that read usage, with the name of an array of volumes' keys: selects the namespaces of these
volumes' claims. usage is sorted by namespace. */ -}}
(cluster, namespace) IN
              (
                  {{template "claim_namespaces.sql" .}}
              )
