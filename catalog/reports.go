package catalog

import "time"

// Reports are the questions that RunReport answers. One more is a file
// reports/NAME.sql and an entry here; its first column is the cluster.
func Reports() []Report {
	cluster := Flag{Name: "cluster", Help: "Only this cluster."}
	limit := Flag{Name: "limit", Help: "At most so many rows; 0 for all.", Kind: Count, Default: "0"}
	namespace := Flag{Name: "namespace", Help: "Only this namespace."}
	return []Report{
		{
			Name: "mounts",
			Help: "Who mounts what: containers, their volumes and the backing stores, latest first.",
			Flags: []Flag{
				{Name: "running", Help: "Only mounts in use now.", Kind: Switch, Default: "false"},
				{Name: "ended", Help: "Only mounts that have ended.", Kind: Switch, Default: "false"},
				namespace,
				{Name: "volume", Help: "Only mounts of this PersistentVolume, by name or UID."},
				cluster, limit,
			},
			exclusive: []string{"running", "ended"},
			hidden:    []string{"volume"}, // the pod's name for what the mount path, the claim and the backend say
			usual:     map[string]string{"kind": "main", "read_only": "false", "ended_at": "", "ended_not_before": "", "end_reason": ""},
		},
		{
			Name: "idle",
			Help: "Bound or released volumes that nobody uses: since when, how much of that was watched, and who did last; longest first.",
			Flags: []Flag{
				{Name: "namespace", Help: "Only volumes of claims in this namespace."},
				{Name: "storageclass", Help: "Only volumes of this storage class."},
				{Name: "min-idle", Help: "Only volumes idle for at least this long, such as 30d or 12h.", Kind: Duration, Default: "0s"},
				cluster, limit,
			},
			hidden: []string{"last_used_at"}, // where it is known, the volume is idle since then
			usual:  map[string]string{"used_bytes": ""},
			remark: remark{
				larger: "idle_seconds", smaller: "observed_seconds", by: int64(coverageSlack / time.Second),
				text: "IDLE is the longest that a volume can have been unused, OBSERVED the part of it that a tracker watched or the claim's condition Unused vouches for: " +
					"a use before the first tracker came, or while none watched, may not be known",
			},
		},
		{
			Name: "space",
			Help: "How much space claims and volumes take, and how much of it nobody uses.",
			Flags: []Flag{
				{Name: "by", Help: "What to group by.", Kind: Choice, Default: "namespace", Choices: []string{"namespace", "storageclass"}},
				cluster, limit,
			},
			usual: map[string]string{"used_bytes": ""},
			sums:  []string{"claims", "bound_volumes", "released_volumes", "requested_bytes", "capacity_bytes", "idle_bytes", "used_bytes"},
		},
	}
}
