-- Says which quarters of a cluster mounts_quarterly has, and of which mounts.
INSERT INTO summed_quarters (cluster, first_quarter, last_quarter, mounts_version, version) VALUES ({cluster:String}, {first:Date}, {last:Date}, {version:UInt64}, {version:UInt64})
