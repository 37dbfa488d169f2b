package catalog

import "slices"

// lostReports find storage that nobody can or will use.
func lostReports() []Report {
	return []Report{{
		Name: "left-behind", readsPast: true, Topic: aboutSpace, Question: "Which backing stores did deleted volumes leave behind?",
		Help: "Volumes deleted under the reclaim policy Retain whose backing store has not appeared again in any cluster: now, or at a moment. " +
			"The stores are presumed to exist; nobody looks at the backend." +
			" Of local and hostPath volumes, the same path on any node of the cluster counts as having appeared again.",
		columns: "cluster persistentvolume source backend capacity_bytes storage_class namespace claim owner groups" +
			" last_pod last_workload last_used_at deleted_at deleted_not_before",
		Flags: slices.Concat([]Flag{atFlag}, chosen("namespace", "owner", "group", "storageclass")),
		usual: map[string]string{"owner": "", "groups": "[]", "storage_class": "", "deleted_not_before": ""},
		sums:  []string{"capacity_bytes"},
		span:  ever, // pods that named a store themselves may have used it long ago
	}, {
		Name: "stranded", Topic: aboutSpace, Question: "Which volumes can no node reach any more?",
		Help: "Volumes whose node affinity no living node meets, and, presumed, those on a node whose name another node has now: who has them, who used them last, and since when. " +
			"Whether a node is ready, and whether it is the same machine under a new object, nobody knows here; where nodes are not watched, there are no rows.",
		columns: "cluster persistentvolume reason topology node stranded_since stranded_seconds namespace claim owner groups" +
			" storage_class capacity_bytes phase last_pod last_workload last_used_at",
		Flags: chosen("namespace", "owner", "group", "storageclass"),
		usual: map[string]string{"owner": "", "groups": "[]", "storage_class": "", "last_pod": "", "last_workload": ""},
		sums:  []string{"capacity_bytes"},
	}}
}

// troubleReports find storage that is in somebody's way.
func troubleReports() []Report {
	return []Report{{
		Name: "blocked", explicit: true, Topic: aboutUse, Question: "Who waits for a claim that somebody else has?",
		Help: "Pods that wait for a claim which another pod or node has, and claims that wait for their deletion because a pod has them: who has it, where and since when. " +
			"A pod that cannot start for another reason alone (no node fits, no image, no volume) is not here; one that is here may have other reasons, too.",
		found: "now", seldom: true,
		columns: "cluster namespace kind name workload reason waits_since waits_seconds owner groups claim persistentvolume" +
			" storage_class holder holder_workload holder_node held_since details",
		Flags: chosen("namespace", "owner", "group", "storageclass", "workload"),
		usual: map[string]string{"owner": "", "groups": "[]", "storage_class": "", "details": "", "workload": ""},
	}, {
		Name: "same-store", explicit: true, Topic: aboutUse, Question: "Which volumes have the same backing store?",
		Help: "Volumes, in one cluster or several, whose backing store another volume has, or pods that name it themselves: who else has it, and how long and by which pods " +
			"it was mounted while others had it mounted. A store is known by its name only: not by a path above or below it, another address of its server, or a copy.",
		seldom: true,
		columns: "cluster persistentvolume state source backend node namespace claim owner groups" +
			" storage_class others together_seconds pods_together created_at deleted_at",
		Flags: slices.Concat([]Flag{sinceFlag, untilFlag}, chosen("namespace", "owner", "group", "storageclass")),
		usual: map[string]string{"node": "", "owner": "", "groups": "[]", "storage_class": "", "deleted_at": ""},
		span:  ever,
	}}
}
