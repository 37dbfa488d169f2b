{{- /* Included by other reports behind volume_hashes, an array with the hashes of the volumes that they are about: such a list is made once, however
often "its" is read. */ -}}
its AS (SELECT h.1 AS h1, h.2 AS h2 FROM (SELECT arrayJoin(volume_hashes) AS h))