package exporter

import (
	"iter"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// family is a gauge family that this package renders itself, ready to be
// written: kube-state-metrics' idea of a family declared as name, help and a
// function. Its library makes only its own families (package statemetrics), as its
// lines repeat the family's name and every label, which for the volumes would be two
// thirds of the memory.
type family struct {
	name string
	help string
	// lines yields each sample without the name: `{label="value"} 1` and a line
	// feed. A line is only valid until the next is asked for.
	lines iter.Seq[[]byte]
}

// volumeFamily declares a family with at most one sample a volume.
type volumeFamily struct {
	name string
	help string
	// routed adds the labels namespace, persistentvolumeclaim and storageclass,
	// by which alerts are routed and dashboards filter. The others have only
	// persistentvolume, and are joined with volume_info where more is wanted.
	routed bool
	// seconds returns the value of a family whose value depends on the moment of the scrape. Such a
	// family has only the common labels, and a sample for each volume.
	seconds func(at *instant, r *row) int64
	// rest appends what follows the common labels: more labels, the closing
	// brace, the value. It appends nothing where the volume has no such sample. It is nil
	// where there is seconds.
	rest func(t *renderer, b []byte, v *fact.VolumeState) []byte
}

// The number of volume families; a row keeps where each begins.
const volumeFamilyCount = 14

// volumeFamilies are the families with a series for each volume.
var volumeFamilies = [volumeFamilyCount]volumeFamily{
	{
		name: prefix + "_volume_available_bytes",
		help: "Space that containers can still write to on the volume's file system, as a kubelet reported last. Present where volume_used_bytes is.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte {
			return appendMeasured(b, v, v.AvailableBytes)
		},
	},
	{
		name: prefix + "_volume_capacity_bytes",
		help: "Size of the volume, as its PersistentVolume says.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte { return appendValue(b, v.CapacityBytes) },
	},
	{
		name:    prefix + "_volume_idle_observed_seconds",
		help:    "How much of volume_idle_seconds was watched, or vouched for by the claim's condition Unused: the time before the first tracker came, and gaps in which none watched, are left out. It lags by up to a minute or two while no pod changes. 0 while a container uses the volume or a pod that has not started awaits it.",
		routed:  true,
		seconds: (*instant).idleObserved,
	},
	{
		name:    prefix + "_volume_idle_seconds",
		help:    "For how long nobody has used the volume, the longest it can be: since its last use, or if none is known since it was bound or created. volume_idle_observed_seconds is the part that was watched. 0 while a container uses it or a pod that has not started awaits it.",
		routed:  true,
		seconds: (*instant).idle,
	},
	{
		name:   prefix + "_volume_info",
		help:   "What the volume is and whose: its claim (of a released volume, the last one), storage class, kind of backing store, CSI or flexVolume driver, reclaim policy and the claim's owner. Always 1; join with it on persistentvolume.",
		routed: true,
		rest: func(t *renderer, b []byte, v *fact.VolumeState) []byte {
			b = appendLabel(append(b, ','), "source", v.SourceKind)
			b = appendLabel(append(b, ','), "driver", v.Driver)
			b = appendLabel(append(b, ','), "reclaim_policy", v.ReclaimPolicy)
			b = appendLabel(append(b, ','), "owner", v.Owner)
			b = appendCarried(b, t.claimLabels, v.ClaimLabels)
			b = appendCarried(b, t.namespaceLabels, v.NamespaceLabels)
			return appendValue(b, 1)
		},
	},
	{
		name: prefix + "_volume_inodes",
		help: "Inodes of the volume's file system, as a kubelet reported last. Present where volume_used_bytes is, unless the file system has no fixed number of inodes.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte { return appendInodes(b, v, v.Inodes) },
	},
	{
		name: prefix + "_volume_inodes_used",
		help: "Inodes in use on the volume's file system, as a kubelet reported last. Present where volume_inodes is.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte { return appendInodes(b, v, v.InodesUsed) },
	},
	{
		name: prefix + "_volume_keep_unreadable",
		help: "1 if the annotation kubevoltracker.io/keep of the volume or its claim cannot be read, and so does not hold back any alert. Absent otherwise.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte {
			if v.KeepUnreadable == "" {
				return b
			}
			return appendValue(b, 1)
		},
	},
	{
		name: prefix + "_volume_keep_until_timestamp_seconds",
		help: "Until when the volume is kept on purpose, though nobody uses it, as the annotation kubevoltracker.io/keep of the volume or its claim says: the end of the day that it names, in UTC. It stays when that day is over. Absent without such an annotation.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte { return appendKnownTimestamp(b, v.KeepUntil) },
	},
	{
		name: prefix + "_volume_last_used_timestamp_seconds",
		help: "When the last use of the volume ended. Absent while it is in use, and where no use is known.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte { return appendKnownTimestamp(b, v.LastUsed) },
	},
	{
		name: prefix + "_volume_mounts",
		help: "How many containers use the volume now.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte { return appendValue(b, int64(v.Mounts)) },
	},
	{
		name:   prefix + "_volume_state",
		help:   "What the volume is doing: mounted, pending (a pod that has not started awaits it), idle (used before, not now), never_mounted, available (no claim yet), released (its claim is gone) or failed. Only the present state has a series, with the value 1.",
		routed: true,
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte {
			return appendValue(appendLabel(append(b, ','), "state", string(v.Status)), 1)
		},
	},
	{
		name: prefix + "_volume_state_changed_timestamp_seconds",
		help: "When the volume came into its present state. Absent where that is not known: before Kubernetes 1.28 nothing tells when a volume was released.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte { return appendKnownTimestamp(b, v.ChangedAt) },
	},
	{
		name: prefix + "_volume_used_bytes",
		help: "Used space of the volume's file system, as a kubelet said last; it stays while nobody uses the volume and no kubelet can tell. Of a directory on a shared file system, as NFS has them, it is that of all of it. Absent until a kubelet has told, and of block devices.",
		rest: func(_ *renderer, b []byte, v *fact.VolumeState) []byte { return appendMeasured(b, v, v.UsedBytes) },
	},
}

// appendMeasured ends a line with a kubelet's figure; it appends nothing if no kubelet has measured the volume.
func appendMeasured(b []byte, v *fact.VolumeState, figure int64) []byte {
	if !v.Measured {
		return b
	}
	return appendValue(b, figure)
}

// appendInodes is appendMeasured for a file system that has a number of inodes.
func appendInodes(b []byte, v *fact.VolumeState, figure int64) []byte {
	if v.Inodes == 0 {
		return b
	}
	return appendMeasured(b, v, figure)
}

// namespaceFamily declares a family with the same samples for each namespace
// and storage class.
type namespaceFamily struct {
	name    string
	help    string
	samples []namespaceSample
}

type namespaceSample struct {
	phase string              // the label phase, where the family has it
	known func(g *group) bool // whether there is a value; nil if there always is
	value func(g *group, now fact.Time) total
}

// namespaceFamilies are the families of each namespace and storage class that
// has a claim.
var namespaceFamilies = [...]namespaceFamily{
	{
		name: prefix + "_namespace_bound_volumes",
		help: "Volumes bound to claims of the namespace.",
		samples: []namespaceSample{
			{value: func(g *group, _ fact.Time) total { return totalOf(int64(g.phases[phaseBound])) }},
		},
	},
	{
		name: prefix + "_namespace_capacity_bytes",
		help: "Space the namespace's bound claims have been given. Summed by claim.",
		samples: []namespaceSample{
			{value: func(g *group, _ fact.Time) total { return g.capacityBytes }},
		},
	},
	{
		name: prefix + "_namespace_claim_pending_seconds",
		help: "For how long the namespace's claim that has waited longest to be bound has waited; 0 if none waits. A claim of a class that binds at first use (WaitForFirstConsumer) waits from when a pod needs it." + unknownClassHelp,
		samples: []namespaceSample{
			{value: func(g *group, now fact.Time) total { return totalOf(secondsSince(g.pendingSince, now)) }},
		},
	},
	{
		name: prefix + "_namespace_claims",
		help: "PersistentVolumeClaims of the namespace by phase: Pending, Bound or Lost (its volume is gone)." + unknownClassHelp,
		samples: []namespaceSample{
			{phase: "Pending", value: func(g *group, _ fact.Time) total { return totalOf(int64(g.phases[phasePending])) }},
			{phase: "Bound", value: func(g *group, _ fact.Time) total { return totalOf(int64(g.phases[phaseBound])) }},
			{phase: "Lost", value: func(g *group, _ fact.Time) total { return totalOf(int64(g.phases[phaseLost])) }},
		},
	},
	{
		name: prefix + "_namespace_idle_bytes",
		help: "Size of the namespace's bound volumes that no container uses and no pod awaits.",
		samples: []namespaceSample{
			{value: func(g *group, _ fact.Time) total { return g.idleBytes }},
		},
	},
	{
		name: prefix + "_namespace_idle_volumes",
		help: "The namespace's bound volumes that no container uses and no pod awaits, whether used before or never.",
		samples: []namespaceSample{
			{value: func(g *group, _ fact.Time) total { return totalOf(int64(g.idleVolumes)) }},
		},
	},
	{
		name: prefix + "_namespace_requested_bytes",
		help: "Space the namespace's claims ask for, bound or not." + unknownClassHelp,
		samples: []namespaceSample{
			{value: func(g *group, _ fact.Time) total { return g.requestedBytes }},
		},
	},
	{
		name: prefix + "_namespace_unmeasured_volumes",
		help: "The namespace's bound volumes that have been used, as far as is known, and whose used space no kubelet has reported: namespace_used_bytes is absent as long as there is one. Block devices do not count, nor do volumes of which no use is known.",
		samples: []namespaceSample{
			{value: func(g *group, _ fact.Time) total { return totalOf(int64(g.unmeasured)) }},
		},
	},
	{
		name: prefix + "_namespace_used_bytes",
		help: "Used space of the namespace's bound volumes, as kubelets reported last: see volume_used_bytes. Absent while namespace_unmeasured_volumes is above 0, because the sum would be too small, and until a kubelet has reported one volume.",
		samples: []namespaceSample{
			{known: (*group).measuredAll, value: func(g *group, _ fact.Time) total { return g.usedBytes }},
		},
	},
}
