package catalog

import "slices"

// lostReports find storage that nobody can or will use.
func lostReports() []Report {
	return []Report{{
		Name: "left-behind", Topic: aboutSpace, Question: "Which backing stores did deleted volumes leave behind?",
		Help: "Volumes deleted under the reclaim policy Retain whose backing store has not appeared again in any cluster: now, or at a moment. " +
			"The stores are presumed to exist; nobody looks at the backend.",
		Flags: slices.Concat([]Flag{atFlag}, chosen("namespace", "owner", "group", "storageclass")),
		usual: map[string]string{"owner": "", "groups": "[]", "storage_class": "", "deleted_not_before": ""},
		sums:  []string{"capacity_bytes"},
		span:  now,
	}}
}
