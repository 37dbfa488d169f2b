{{- /* Included by stranded.sql, over volumes, behind watched: selects the volumes that not every node can reach, in
clusters whose nodes are watched. */ -}}
deleted_at IS NULL AND node_affinity != ''{{filter "cluster"}} AND cluster IN (SELECT cluster FROM watched) AND {{template "volume_filter.sql"}}
