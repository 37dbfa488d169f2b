{{- /* Included by pods-per-volume.sql: what its sums of mounts_quarterly, as m, are grouped by, in one number: the claim, the volume, and the
name of the claim, whose UID can be unknown. */ -}}
bitXor(m.claim_key, m.volume_key) + m.place_hash
