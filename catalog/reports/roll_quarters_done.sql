-- Records which quarters of a cluster are in mounts_quarterly, and up to which version of mounts.
INSERT INTO summed_quarters (cluster, first_quarter, until, version) VALUES ({cluster:String}, {first:Date}, {end:Date}, {version:UInt64})
