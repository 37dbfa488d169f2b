-- Says which quarters of a cluster mounts_quarterly has, and up to which version of mounts.
INSERT INTO summed_quarters (cluster, first_quarter, last_quarter, version) VALUES ({cluster:String}, {first:Date}, {last:Date}, {version:UInt64})
