package catalog

import (
	"slices"
	"time"
)

const fortnight = span(14 * 24 * time.Hour)

// atReport is a picture of the storage of a moment.
func atReport() Report {
	return Report{
		Name: "at", explicit: true, Topic: aboutUse, Question: "What did the cluster's storage look like at a moment?",
		Help:    "Each volume that existed at a moment, by default now: its size and phase then, its claim, and who had it mounted. What is not known of then is empty.",
		columns: "cluster persistentvolume capacity_bytes phase namespace claim storage_class pods workloads source backend",
		Flags:   slices.Concat([]Flag{atFlag}, chosen("namespace", "owner", "group", "storageclass", "workload")),
		usual:   map[string]string{"storage_class": ""},
		span:    now,
	}
}

// diffReport compares two moments.
func diffReport() Report {
	return Report{
		Name: "diff", Topic: aboutRate, Question: "What differs between two moments?",
		Help: "What differs between --since and --until, by default the past 24 hours: volumes and claims that came, went or changed size, bindings, " +
			"and how many mounts each workload has. What came and went in between is no difference.",
		Flags:    slices.Concat([]Flag{sinceFlag, untilFlag}, chosen("namespace", "owner", "group", "storageclass", "workload")),
		usual:    map[string]string{"before": "", "after": ""},
		span:     span(24 * time.Hour),
		explicit: true,
	}
}

// upkeepReports name storage for which somebody has something to do.
func upkeepReports() []Report {
	return []Report{
		{
			Name: "orphans", explicit: true, Topic: aboutSpace, Question: "Which volumes and claims does nobody own, or clean up?",
			Help: "Volumes and claims that nobody uses and that nothing cleans up by itself: why, since when, who used them last, and what to do next. A claim that has no volume yet may be among them though a pod waits for it. Left out is a claim that pods of a CronJob used last, or pods of a workload, other than a StatefulSet, that still has pods: the report idle has these.",
			Flags: slices.Concat([]Flag{
				{Name: "min-age", Help: "Available volumes and unused claims only if they are so for at least this long.", Kind: Duration, Default: "30d"},
			}, chosen("namespace", "owner", "group", "storageclass")),
			usual: map[string]string{"owner": "", "groups": "[]", "last_pod": "", "last_workload": "", "claim": "", "keep_until": "", "keep_reason": ""},
			sums:  []string{"capacity_bytes"},
		},
		{
			Name: "static", explicit: true, Topic: aboutSpace, Question: "Which volumes are mounted, and have not changed for long?",
			Help:    "Volumes that are mounted, now or at a moment, and whose used bytes and files have not changed for long, as far as kubelets said. They are in use, not idle: readers change nothing.",
			columns: "cluster persistentvolume namespaces claims storage_class workloads read_only used_since unchanged_since unchanged_seconds used_bytes inodes_used",
			Flags: slices.Concat([]Flag{
				{Name: "min-unchanged", Help: "Only volumes that have not changed for at least this long.", Kind: Duration, Default: "7d"},
				atFlag,
			}, chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"read_only": "false", "storage_class": "", "inodes_used": "0"},
			span:  now,
		},
		{
			Name: "filling", explicit: true, Topic: aboutSpace, Question: "Which volumes will be full soon?",
			Help: "Volumes that grow, and in how many days no byte or no file fits any more, by a line fitted to the window; without one, to the past 14 days.",
			columns: "cluster persistentvolume namespace claim storage_class runs_out days_left full_at growth_per_day_bytes used_bytes" +
				" capacity_bytes growth_per_day_inodes inodes_used inodes fitted_seconds",
			Flags: slices.Concat([]Flag{
				{Name: "within", Help: "Only volumes that are full within this time.", Kind: Duration, Default: "30d"},
				sinceFlag, untilFlag,
			}, chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"storage_class": "", "growth_per_day_inodes": "", "inodes": "0", "inodes_used": "0"},
			span:  fortnight,
		},
		{
			Name: "rightsize", explicit: true, Topic: aboutSpace, Question: "Which volumes are larger than they need to be, or too small?",
			Help: "The most that was ever used of each volume, against its size, and a size for the next claim: the most used plus headroom, in whole GiB.",
			Flags: slices.Concat([]Flag{
				{Name: "headroom", Help: "How much more than the most used to advise, in percent.", Kind: Percent, Default: "20"},
				sinceFlag, untilFlag,
			}, chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"storage_class": ""},
			span:  ever,
		},
	}
}
