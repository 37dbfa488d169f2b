package main

// inState counts the volumes in the states that match.
func inState(matching string) string {
	return orZero(`count(group by (cluster, persistentvolume) (kubevoltracker_volume_state{`+ofClass+matching+`}))`, perVolume)
}

// fiftyIdle are the volumes that nobody has used for longest.
const fiftyIdle = `topk(50, min by (cluster, namespace, persistentvolumeclaim, persistentvolume, storageclass) (kubevoltracker_volume_idle_seconds{` + ofClass + `}) > 0)`

// ofThese returns one value for each of the longest idle volumes, with one more label. The selection comes first: to group the
// values of all volumes takes longer.
func ofThese(label, metric string) string {
	return ofTrackers(metric) + " by (cluster, persistentvolume" + label + ") (\n  kubevoltracker_volume_" + metric + "{" + ofCluster + "}\n  and on (cluster, persistentvolume) " + fiftyIdle + "\n)"
}

func overview() board {
	overTimeOf := func(metric string) string { return "sum by (namespace) (" + perNamespace(metric) + ")" }
	return board{
		name: "overview", title: "Overview", from: "now-7d", refresh: "1m",
		question: "How much storage is there, who has it, how much of it does nobody use, and is anything wrong with it?",
		choices:  []choice{cluster, namespace, storageclass},
		rows: []row{{"", []panel{
			{kind: figure, title: "Volumes", unit: "short", width: 4, height: 4,
				description: "PersistentVolumes of the clusters, namespaces and classes chosen above, whatever they do. A volume without a claim has no namespace.",
				queries:     []query{now(inState(""), "")}},
			{kind: figure, title: "Claimed space", unit: "bytes", width: 4, height: 4, link: "namespace",
				description: "Space that bound claims have been given.",
				queries:     []query{now(orZero("sum("+perNamespace("capacity_bytes")+")", complete), "")}},
			{kind: figure, title: "Idle space", unit: "bytes", width: 4, height: 4, link: "idle",
				description: "Size of the bound volumes that no container uses and no pod awaits.",
				queries:     []query{now(orZero("sum("+perNamespace("idle_bytes")+")", complete), "")}},
			{kind: figure, title: "Idle for 30 days", unit: "short", width: 4, height: 4, link: "idle", steps: []step{{1, "yellow"}},
				description: "Bound volumes that nobody used for 30 days. Time counts in which a tracker watched, or for which the claim's condition Unused vouches.",
				queries: []query{now(orZero(`count(
  min by (cluster, persistentvolume) (kubevoltracker_volume_idle_observed_seconds{`+ofClass+`}) > 30 * 86400
  unless on (cluster, persistentvolume)
  kubevoltracker_volume_state{`+ofClass+`, state=~"available|released|failed"}
)`, perVolume), "")}},
			{kind: figure, title: "Released or failed", unit: "short", width: 4, height: 4, link: "idle", steps: []step{{1, "yellow"}},
				description: "Volumes whose claim is gone and that have not been reclaimed.",
				queries:     []query{now(inState(`, state=~"released|failed"`), "")}},
			{kind: figure, title: "Claims pending or lost", unit: "short", width: 4, height: 4, link: "namespace", steps: []step{{1, "yellow"}},
				description: "Claims that have no volume, or none any more.",
				queries:     []query{now(orZero(`sum(max by (cluster, namespace, storageclass, phase) (kubevoltracker_namespace_claims{`+ofClass+`, phase=~"Pending|Lost"}))`, complete), "")}},
		}}, {"Volumes and space", []panel{
			{kind: bars, title: "Volumes by state", unit: "short", width: 8, height: 8,
				description: "mounted: a container uses it. pending: a pod that has not started awaits it. idle: used before, not now. never_mounted: bound, and no use is known. available: no claim yet. released: its claim is gone. failed: could not be reclaimed.",
				queries:     []query{now(`sum by (state) (max by (cluster, persistentvolume, state) (kubevoltracker_volume_state{`+ofClass+`}))`, "{{state}}")}},
			{kind: lines, title: "Bound and idle volumes", unit: "short", width: 8, height: 8,
				description: "Volumes that are bound to a claim, and those of them that no container uses and no pod awaits.",
				queries: []query{
					overTime("sum("+perNamespace("bound_volumes")+")", "bound"),
					overTime("sum("+perNamespace("idle_volumes")+")", "idle"),
				}},
			{kind: lines, title: "Volumes created and deleted per hour", unit: "short", width: 8, height: 8,
				description: "How often volumes come (+) and go (−), by storage class. Volumes that the tracker found when it first looked do not count.",
				queries: []query{
					overTime(`3600 * sum by (storageclass) (max by (cluster, storageclass, source) (rate(kubevoltracker_volumes_created_total{`+ofCluster+`, storageclass=~"$storageclass"}[$__rate_interval])))`, "+ {{storageclass}}"),
					overTime(`-3600 * sum by (storageclass) (max by (cluster, storageclass, source) (rate(kubevoltracker_volumes_deleted_total{`+ofCluster+`, storageclass=~"$storageclass"}[$__rate_interval])))`, "− {{storageclass}}"),
				}},
			{kind: lines, title: "Space by namespace", unit: "bytes", width: 8, height: 8,
				description: "Space that bound claims have been given: the ten namespaces with most.",
				queries:     []query{overTime("topk(10, "+overTimeOf("capacity_bytes")+")", "{{namespace}}")}},
			{kind: lines, title: "Space by storage class", unit: "bytes", width: 8, height: 8,
				description: "Space that bound claims have been given, by storage class.",
				queries:     []query{overTime("sum by (storageclass) ("+perNamespace("capacity_bytes")+")", "{{storageclass}}")}},
			{kind: lines, title: "Space in use by namespace", unit: "bytes", width: 8, height: 8,
				description: "Used space of the volumes of bound claims, as kubelets reported last: the ten namespaces with most. A storage class counts once all of its volumes in the namespace that have been used are measured (namespace_unmeasured_volumes).",
				queries:     []query{overTime("topk(10, "+overTimeOf("used_bytes")+")", "{{namespace}}")}},
		}}, {"Provisioning", []panel{
			{kind: lines, title: "Claims wait to be bound", unit: "s", width: 8, height: 8,
				description: "How long claims that were bound had waited, and for how long the claim that waits longest has waited by now.",
				queries: []query{
					overTime(quantile(0.5, "claim_bind_duration_seconds", "cluster, storageclass", ofCluster+`, storageclass=~"$storageclass"`), "median"),
					overTime(quantile(0.95, "claim_bind_duration_seconds", "cluster, storageclass", ofCluster+`, storageclass=~"$storageclass"`), "95 %"),
					overTime(`max(kubevoltracker_namespace_claim_pending_seconds{`+ofClass+`})`, "still waiting"),
				}},
			{kind: lines, title: "Pods wait for their storage", unit: "s", width: 8, height: 8,
				description: "From the scheduling of a pod that mounts storage until its first container started: attach, mount and image pull.",
				queries: []query{
					overTime(quantile(0.5, "pod_storage_wait_seconds", "cluster", ofCluster), "median"),
					overTime(quantile(0.95, "pod_storage_wait_seconds", "cluster", ofCluster), "95 %"),
				}},
			{kind: lines, title: "Left to provision", unit: "bytes", width: 8, height: 8,
				description: "What the CSI drivers say that they can still provision, by storage class and the part of the cluster that has least. Empty where no driver says it.",
				queries:     []query{overTime(`min by (storageclass) (kubevoltracker_storage_capacity_bytes{`+ofCluster+`, storageclass=~"$storageclass"})`, "{{storageclass}}")}},
		}}, {"The longest idle", []panel{
			{kind: list, title: "Longest idle volumes", unit: "short", width: 24, height: 12, sortBy: "idle",
				description: "The fifty volumes that nobody has used for longest, with the claim that they are or were bound to and its owner. Idle is the longest that it can be. Observed is the part of it that a tracker watched, or that the claim's condition Unused vouches for. They differ by the time before the first tracker came and by gaps in which none watched: a nightly job may have used the volume then. Delete by Observed, and not before the date that an annotation kubevoltracker.io/keep names. The dashboard Idle and orphaned says who used them last.",
				columns:     "cluster namespace>namespace persistentvolumeclaim persistentvolume>volume owner>owner storageclass state size:bytes used:bytes idle:s observed:s kept_until:dateTimeAsIso",
				merged:      map[string]string{"Value #idle": "idle", "Value #observed": "observed", "Value #size": "size", "Value #used": "used", "Value #keep": "kept_until"},
				dropped:     []string{"Value #owner", "Value #state"},
				// A query each, as one that joins all of them takes more than a second at 100,000 volumes.
				queries: []query{
					{ref: "idle", instant: true, table: true, expr: fiftyIdle},
					{ref: "observed", instant: true, table: true, expr: ofThese("", "idle_observed_seconds")},
					{ref: "size", instant: true, table: true, expr: ofThese("", "capacity_bytes")},
					{ref: "used", instant: true, table: true, expr: ofThese("", "used_bytes")},
					{ref: "owner", instant: true, table: true, expr: ofThese(", owner", "info")},
					{ref: "state", instant: true, table: true, expr: ofThese(", state", "state")},
					{ref: "keep", instant: true, table: true, expr: "1000 * " + ofThese("", "keep_until_timestamp_seconds")}, // Grafana's dates are milliseconds
				}},
		}}},
	}
}
