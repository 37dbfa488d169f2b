-- Marks a month of a cluster as done in use_seconds_monthly, by a row without a claim.
INSERT INTO use_seconds_monthly (cluster, month, version) VALUES ({cluster:String}, {month:Date}, {version:UInt64})
