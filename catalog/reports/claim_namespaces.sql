{{- /* Included by other reports, with the name of an array of volumes' keys: the clusters and namespaces of all claims
that these volumes have or had. */ -}}
SELECT cluster, namespace FROM claimed_volumes WHERE {{listed "identity(volume_key)" .}}
