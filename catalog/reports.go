package catalog

import (
	"fmt"
	"slices"
	"time"
)

// filters are the flags that mean the same in each report that has them. A report that lacks one has it empty, as one that was not given.
var filters = []string{"cluster", "namespace", "owner", "group", "storageclass", "workload", "volume"}

// filter returns a flag that chooses rows.
func filter(name string) Flag {
	return Flag{Name: name, Help: map[string]string{
		"cluster":      "Only this cluster.",
		"namespace":    "Only pods and claims in this namespace.",
		"owner":        "Only what this owner has: of the pod, else of its claim. The label or annotation kubevoltracker.io/owner names an owner, else owner.",
		"group":        "Only what owners in this group have. The label or annotation kubevoltracker.io/groups names groups, else groups, group or team.",
		"storageclass": "Only volumes of this storage class.",
		"workload":     "Only what this workload uses: KIND/NAME, such as Deployment/web, or its name.",
	}[name]}
}

// chosen returns flags that choose rows, the last one how many.
func chosen(names ...string) []Flag {
	var flags []Flag
	for _, name := range append(names, "cluster") {
		flags = append(flags, filter(name))
	}
	return append(flags, Flag{Name: "limit", Help: fmt.Sprintf("At most so many rows; 0 for all. Default: %d in tables, all in the formats for programs.", TableRows), Kind: Count})
}

// The time flags.
var (
	atFlag    = Flag{Name: "at", Help: "As it was at this time: how long ago (30d, 12h), a date (2026-11-20), or a time in UTC (2026-11-20 15:04).", Kind: Moment}
	sinceFlag = Flag{Name: "since", Help: "The beginning of the window: how long ago (30d, 12h), a date, which is its beginning, or a time in UTC.", Kind: Moment}
	untilFlag = Flag{Name: "until", Help: "The end of the window; default: now. A date is its beginning: --until=2026-03-01 ends with February. " +
		"Without --since, a report on a fixed time, such as the past 30 days, covers as much time before --until; every other report begins with the history.", Kind: Moment}
)

// momentOrWindow are the time flags of a report that looks at either.
func momentOrWindow() []Flag { return []Flag{atFlag, sinceFlag, untilFlag} }

// volumeArgument names a volume.
var volumeArgument = Flag{Name: "volume", Argument: true, Help: "A PersistentVolume by its name, UID or volume handle, or NAMESPACE/CLAIM for the volumes of that claim."}

// ofVolume chooses the rows of a volume.
var ofVolume = Flag{Name: "volume", Help: "Only this volume, by its name, UID or volume handle, or NAMESPACE/CLAIM for the volumes of that claim."}

// The topics, in the order in which a list of the reports has them.
const (
	aboutUse   = "Who uses storage"
	aboutLife  = "The life of one object"
	aboutSpace = "How much, and how much of it idle"
	aboutRate  = "How it changes"
	aboutWatch = "What the catalog knows"
)

const month = span(30 * 24 * time.Hour)

// Reports are the questions that RunReport answers. One more is a file
// reports/NAME.sql and an entry here; its first column is the cluster.
func Reports() []Report {
	return slices.Concat(useReports(), countReports(), []Report{atReport()}, troubleReports(), lifeReports(), spaceReports(), lostReports(), upkeepReports(),
		rateReports(), []Report{diffReport()}, watchReports())
}

func useReports() []Report {
	return []Report{
		{
			Name: "mounts", explicit: true, Topic: aboutUse, Question: "Who mounts what?",
			Help:    "Containers, their volumes and the backing stores, latest first.",
			columns: "cluster namespace pod container kind workload volume mount_path read_only claim persistentvolume source backend started_at ended_at ended_not_before end_reason",
			Flags: slices.Concat([]Flag{
				{Name: "running", Help: "Only mounts in use now.", Kind: Switch, Default: "false"},
				{Name: "ended", Help: "Only mounts that have ended.", Kind: Switch, Default: "false"},
				ofVolume,
			}, momentOrWindow(), chosen("namespace", "owner", "group", "storageclass", "workload")),
			exclusive: []string{"running", "ended"},
			hidden:    []string{"volume"}, // the pod's name for what the mount path, the claim and the backend say
			usual:     map[string]string{"kind": "main", "read_only": "false", "ended_at": "", "ended_not_before": "", "end_reason": ""},
			span:      ever,
			bounds:    map[string]string{"earliest": parameter(time.Unix(0, 0)), "oldest": parameter(time.Unix(0, 0))},
			lookBack:  []time.Duration{2 * 24 * time.Hour, 60 * 24 * time.Hour},
		},
		{
			Name: "users", explicit: true, Topic: aboutUse, Question: "Who uses a volume, now or then?",
			Help:  "The owners, groups and namespaces whose pods have a volume mounted: now, at a moment, or in a window.",
			Flags: slices.Concat([]Flag{volumeArgument}, momentOrWindow(), chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"used_until": "", "owner": "", "groups": "[]"},
			span:  now,
		},
		{
			Name: "apps", explicit: true, Topic: aboutUse, Question: "Which applications run on a volume, now or then?",
			Help:  "The workloads whose pods have a volume mounted: now, at a moment, or in a window.",
			Flags: slices.Concat([]Flag{volumeArgument}, momentOrWindow(), chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"used_until": "", "owner": "", "groups": "[]", "read_only": "false"},
			span:  now,
		},
		{
			Name: "history", explicit: true, quarterly: "window", found: "window", Topic: aboutUse, Question: "What storage did a group or an owner use in the past thirty days?",
			columns: "cluster namespace owner groups claim persistentvolume storage_class source backend workloads pods used_since used_until",
			Help:    "The storage that pods of an owner, a group or a namespace had mounted in a window; without one, in the past 30 days.",
			Flags:   slices.Concat(momentOrWindow(), chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual:   map[string]string{"used_until": "", "owner": "", "groups": "[]", "storage_class": ""},
			span:    month,
		},
		{
			Name: "use-hours", explicit: true, found: "window", narrowFound: []string{"group"}, Topic: aboutUse, Question: "Who used what for how long?",
			Help:    "For how long each workload used each claim in a window, by at least one pod; without a window, in the past 30 days. It outlives the mounts. With --limit it has only some of the uses that took as long as the last one.",
			columns: "cluster namespace claim persistentvolume storage_class workload owner groups pods used_seconds first_day last_day",
			Flags: slices.Concat([]Flag{ofVolume, sinceFlag, untilFlag},
				chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"owner": "", "groups": "[]", "storage_class": ""},
			span:  month,
		},
	}
}

// life is a report on the life of one object, which its argument names.
func life(name, question, help string, argument Flag) Report {
	argument.Argument = true
	flags := slices.Concat([]Flag{argument, sinceFlag, untilFlag}, chosen())
	flags[len(flags)-1].Help, flags[len(flags)-1].Default = "At most so many rows, oldest first; 0 for all.", "0" // a life is read to its end
	return Report{
		Name: name, explicit: true, Topic: aboutLife, Question: question, Help: help,
		Flags: flags,
		usual: map[string]string{"ended_at": "", "ended_not_before": "", "actor": ""},
		drawn: []string{"life"},
		span:  ever,
	}
}

// countReports count what is used, by volume and by pod.
func countReports() []Report {
	return []Report{
		{
			Name: "pods-per-volume", explicit: true, quarterly: "window", found: "window", Topic: aboutUse, Question: "Which volumes do many pods share?",
			Help:    "How many pods have each volume mounted, most first: now, at a moment, or in a window.",
			columns: "cluster persistentvolume claims storage_class pods nodes workloads",
			Flags:   slices.Concat(momentOrWindow(), chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual:   map[string]string{"storage_class": ""},
			span:    now,
		},
		{
			Name: "volumes-per-pod", explicit: true, found: "window", narrowFound: []string{"group"}, Topic: aboutUse, Question: "Which pods mount many volumes?",
			Help:    "How many volumes and other backing stores each pod has mounted, most first: now, at a moment, or in a window.",
			columns: "cluster namespace pod workload node volumes inline claims",
			Flags:   slices.Concat(momentOrWindow(), chosen("namespace", "owner", "group", "storageclass", "workload")),
			span:    now,
		},
		{
			Name: "ephemeral", Topic: aboutUse, Question: "Which claims were made for one pod only?",
			Help:  "The claims of generic ephemeral volumes, with their pods: now, at a moment, or in a window.",
			Flags: slices.Concat(momentOrWindow(), chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"owner": "", "groups": "[]", "deleted_at": "", "deleted_not_before": ""},
			span:  now,
		},
		{
			Name: "bindings", explicit: true, Topic: aboutUse, Question: "Which claim had which volume, now or then?",
			Help:  "The claims with the volumes that they are bound to: now, at a moment, or in a window.",
			Flags: slices.Concat(momentOrWindow(), chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"owner": "", "groups": "[]", "released_at": "", "released_not_before": ""},
			span:  now,
		},
	}
}

func lifeReports() []Report {
	return []Report{
		{
			Name: "find", explicit: true, Topic: aboutLife, Question: "What is this name: of a volume, a claim, a pod, an export, a portal, a handle, a UID, …?",
			Help:  "All objects and backing stores that have a name, UID, handle, server, path or other attribute, and the volumes and pods on such a backing store.",
			Flags: slices.Concat([]Flag{{Name: "name", Argument: true, Help: "What to find: a name, NAMESPACE/NAME, KIND/NAME of a workload or a pod, a UID, or what names a backing store."}}, chosen("namespace")),
			usual: map[string]string{"until": ""},
			span:  ever,
		},
		life("volume", "What happened to a volume, from the first day on?",
			"The life of a volume: when it existed, which claims had it, who mounted it, and what changed.", volumeArgument),
		life("claim", "What happened to a claim?",
			"The life of a claim: which volumes it had, who mounted them, and what changed while it had them.",
			Flag{Name: "claim", Help: "A PersistentVolumeClaim as NAMESPACE/NAME, which is all that had that name, or by its UID."}),
		life("pod", "When did a pod run, and what did it mount?",
			"The life of a pod: when it ran and where, and what it mounted.",
			Flag{Name: "pod", Help: "A pod as NAMESPACE/NAME, which is all that had that name, or by its UID."}),
		life("workload", "Which pods did a workload have, and what did they mount?",
			"The life of a workload: its pods, what they mounted, and the claims that were made for it.",
			Flag{Name: "workload", Help: "A workload as NAMESPACE/KIND/NAME, such as shop/StatefulSet/mysql; NAMESPACE/Pod/NAME for a pod without a controller."}),
	}
}

func rateReports() []Report {
	return []Report{
		{
			Name: "app-changes", explicit: true, Topic: aboutRate, Question: "Has the set of applications on a volume changed?",
			Help: "When workloads came to a volume and went, and which ones it had then.",
			Flags: slices.Concat([]Flag{
				volumeArgument,
				{Name: "min-absence", Help: "Workloads whose pods were away for less than this have stayed.", Kind: Duration, Default: "10m"},
				sinceFlag, untilFlag,
			}, chosen("namespace", "owner", "group", "storageclass", "workload")),
			usual: map[string]string{"at_not_before": ""},
			span:  ever,
		},
		{
			Name: "creation-rate", Topic: aboutRate, Question: "Are volumes created more often than before?",
			Help: "Volumes and claims created per hour, day or week, beside those of the window of the same length before; without a window, of the past 30 days. " +
				"The numbers of the window before are empty where nobody watched yet.",
			before: true,
			Flags: slices.Concat([]Flag{
				{Name: "per", Help: "How long each part is: hour, day or week.", Kind: Choice, Default: "day", Choices: []string{"hour", "day", "week"}},
				sinceFlag, untilFlag,
			}, chosen("namespace", "owner", "group", "storageclass")),
			sums: []string{"volumes", "volumes_before", "claims", "claims_before"},
			span: month,
		},
		{
			Name: "resizes", Topic: aboutRate, Question: "Which claims and volumes grew?",
			Help:  "When claims and volumes were resized, or asked to be, latest first; without a window, in the past 30 days.",
			Flags: slices.Concat([]Flag{sinceFlag, untilFlag}, chosen("namespace", "owner", "group", "storageclass", "workload")),
			span:  month,
		},
		{
			Name: "lifetimes", Topic: aboutRate, Question: "How long do volumes, claims and mounts last?",
			Help:  "The shortest, the median and the longest life of what ended in a window, by kind and storage class; without a window, of all that ended.",
			Flags: slices.Concat([]Flag{sinceFlag, untilFlag}, chosen("namespace", "owner", "group", "storageclass")),
			span:  ever,
		},
	}
}

func watchReports() []Report {
	counts := Report{
		Name: "counts", explicit: true, Topic: aboutWatch, Question: "How many volumes, claims and pods were there, now or then?",
		Help:  "How many of each kind there are: now, or at a moment. Pods are those that mount storage.",
		Flags: slices.Concat([]Flag{atFlag}, chosen("namespace", "owner", "group", "storageclass", "workload")),
		span:  now,
	}
	return []Report{counts, {
		Name: "coverage", Topic: aboutWatch, Question: "When were pods watched, and when did nobody watch?",
		Help:  "The times at which pods were watched, by any tracker, and the gaps between them.",
		Flags: slices.Concat(momentOrWindow(), chosen()),
		usual: map[string]string{"ended_at": ""},
		span:  ever,
	}}
}

func spaceReports() []Report {
	return []Report{
		{
			Name: "never-mounted", explicit: true, readsPast: true, Topic: aboutSpace, Question: "Which claims has nobody ever mounted, by now or then?",
			Help:  "The claims that exist and that no container has ever mounted, as far as is known, now or at a moment; oldest first.",
			Flags: slices.Concat([]Flag{atFlag}, chosen("namespace", "owner", "group", "storageclass")),
			span:  now,
			usual: map[string]string{"owner": "", "groups": "[]", "unused_since": ""},
			sums:  []string{"requested_bytes"},
		},
		{
			Name: "capacity", Topic: aboutSpace, Question: "How much can each storage class still provision, now or then?",
			Help:  "How much storage each class can still provision, as its CSI driver said last: by now, or by a moment. Parts of the cluster of which the driver reported no amount then are left out.",
			Flags: slices.Concat([]Flag{atFlag}, chosen("storageclass")),
			span:  now,
		},
		{
			Name: "idle", explicit: true, readsPast: true, quarterly: "moment", found: "moment", narrowFound: []string{"namespace", "owner", "group"}, unlimitedFound: true, Topic: aboutSpace, Question: "Which volumes does nobody use, since when, and who did last, now or then?",
			Help: "Bound or released volumes that nobody uses, now or at a moment: since when, how much of that was watched, and who did last; longest first.",
			Flags: slices.Concat([]Flag{
				atFlag,
				{Name: "namespace", Help: "Only volumes of claims in this namespace."},
				{Name: "min-idle", Help: "Only volumes that can have been idle for at least this long, such as 30d or 12h: by IDLE, not by OBSERVED.", Kind: Duration, Default: "0s"},
			}, chosen("owner", "group", "storageclass")),
			columns: "cluster volume state idle_since idle_seconds observed_seconds namespace claim storage_class capacity_bytes used_bytes reclaim_policy last_used_at " +
				"last_namespace last_pod last_workload keep_until keep_reason",
			span:   now,
			hidden: []string{"last_used_at"}, // where it is known, the volume is idle since then
			usual:  map[string]string{"used_bytes": "", "keep_until": "", "keep_reason": ""},
			remark: remark{
				larger: "idle_seconds", smaller: "observed_seconds", by: int64(coverageSlack / time.Second),
				text: "IDLE is the longest that a volume can have been unused, OBSERVED the part of it that a tracker watched or the claim's condition Unused vouches for: " +
					"a use before the first tracker came, or while none watched, may not be known",
			},
		},
		{
			Name: "space", explicit: true, Topic: aboutSpace, Question: "How much space does each namespace, owner, group or storage class take, and how much of it is idle?",
			Help: "How much space claims and volumes take, and how much of it nobody uses: now, at a moment, or in byte-hours over a window.",
			Flags: slices.Concat([]Flag{
				{Name: "by", Help: "What to group by: namespace, owner, group or storageclass.", Kind: Choice, Default: "namespace", Choices: []string{"namespace", "owner", "group", "storageclass"}},
			}, momentOrWindow(), chosen("namespace", "owner", "group", "storageclass")),
			usual: map[string]string{"used_bytes": "", "used_byte_hours": ""},
			sums: []string{"claims", "bound_volumes", "released_volumes", "requested_bytes", "capacity_bytes", "idle_bytes", "used_bytes",
				"requested_byte_hours", "capacity_byte_hours", "idle_byte_hours", "used_byte_hours"},
			span: now,
		},
	}
}
