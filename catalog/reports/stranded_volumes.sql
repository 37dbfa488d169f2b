{{- /* Included by stranded.sql, over volumes: selects the selected volumes that not every node can reach. */ -}}
deleted_at IS NULL AND node_affinity != ''{{filter "cluster"}} AND cluster IN (SELECT cluster FROM watched) AND {{template "volume_filter.sql"}}
