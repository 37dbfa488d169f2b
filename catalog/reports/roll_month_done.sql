-- Says that use_seconds_monthly has all of a month of a cluster: by a row without a claim.
INSERT INTO use_seconds_monthly (cluster, month, version) VALUES ({cluster:String}, {month:Date}, {version:UInt64})
