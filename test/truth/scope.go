package truth

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scope is a prefix of namespaces. What is in them belongs to it, the volumes of their claims do, and so do volumes
// without a claim whose names have the prefix.
type Scope string

// Owns reports whether an object belongs to the scope.
func (s Scope) Owns(o metav1.Object) bool {
	namespace := o.GetNamespace()
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		if namespace = o.Name; o.Spec.ClaimRef != nil {
			namespace = o.Spec.ClaimRef.Namespace
		}
	case *corev1.Namespace:
		namespace = o.Name
	}
	return strings.HasPrefix(namespace, string(s))
}

// scopeTable is a Table with what may be unknown of its rows.
type scopeTable struct {
	Table
	// from and to are the columns of when a row's subject came and went. A subject that lived within a lossy gap need
	// not be known.
	from, to string
	// passing are the columns of a state. Nobody knows the last state of a subject that ended within a lossy gap.
	passing []string
}

// tables returns the queries of what the catalog has of the scope.
func (s Scope) tables(volumes []string) []scopeTable {
	var (
		ours   = "startsWith(namespace, '" + string(s) + "')"
		claims = "(SELECT uid FROM claims WHERE " + ours + ")"
		isOurs = "(claim_uid IN " + claims + " OR uid IN ('" + strings.Join(volumes, "', '") + "'))"
		vols   = "(SELECT uid FROM volumes WHERE " + isOurs + ")"
		both   = "(uid IN " + claims + " OR uid IN " + vols + ")"
		all    = "(" + both + " OR uid IN (SELECT uid FROM pods WHERE " + ours + "))"
	)
	return []scopeTable{
		{Table{"mount", 4, `SELECT pod_uid, container, volume, mount_path, sub_path, read_only, block_device, source_kind, claim_uid, claim_name, volume_uid,
			started_at, ended_at, ended_not_before, ended_at = ended_not_before AS exact FROM mounts WHERE ` + ours}, "started_at", "ended_at", nil},
		{Table{"binding", 3, `SELECT claim_uid, volume_uid, ordinal, namespace, claim_name, bound_at, released_at, released_not_before FROM bindings
			WHERE claim_uid IN ` + claims + ` OR volume_uid IN ` + vols}, "bound_at", "released_at", nil},
		{Table{"phase", 3, `SELECT uid, multiIf(action = 'bound', 'Bound', action = 'released', 'Released', splitByString(' → ', details)[2]) AS phase,
			row_number() OVER (PARTITION BY uid, phase ORDER BY at) AS n, at
			FROM changes WHERE action IN ('bound', 'phase', 'released') AND ` + both}, "at", "at", nil},
		{Table{"size", 2, `SELECT uid, details, at FROM changes WHERE action = 'resized' AND ` + both}, "at", "at", nil},
		{Table{"modification", 2, `SELECT uid, details, at FROM changes WHERE action = 'modified' AND ` + both}, "at", "at", nil},
		{Table{"event", 2, `SELECT uid, action, count() AS times FROM changes
			WHERE action IN ('created', 'mounted', 'unmounted', 'deleted') AND ` + all + ` GROUP BY ALL`}, "", "", nil},
		{Table{"volume", 1, `SELECT uid, name, phase, phase_changed_at, claim_uid, capacity_bytes, source_kind, created_at, deleted_at, deleted_not_before
			FROM volumes WHERE ` + isOurs}, "created_at", "deleted_at", []string{"phase", "phase_changed_at", "claim_uid", "capacity_bytes"}},
		{Table{"claim", 1, `SELECT uid, namespace, name, phase, volume_name, volume_uid, requested_bytes, capacity_bytes, created_at, bound_at, deleted_at, deleted_not_before,
			ephemeral, workload_kind, workload_name FROM claims WHERE ` + ours}, "created_at", "deleted_at", []string{"phase", "volume_name", "volume_uid", "requested_bytes", "capacity_bytes", "bound_at"}},
		{Table{"container", 2, `SELECT pod_uid, name, image, started_at, finished_at, restarts FROM containers
			WHERE pod_uid IN (SELECT uid FROM pods WHERE ` + ours + `)`}, "", "", []string{"started_at", "finished_at", "restarts"}},
		{Table{"namespace", 1, `SELECT uid, name, created_at, deleted_at FROM namespaces WHERE startsWith(name, '` + string(s) + `')`}, "created_at", "deleted_at", nil},
		{Table{"attachment", 1, `SELECT uid, volume_uid, node, attached_at, detached_at FROM attachments WHERE volume_uid IN ` + vols}, "attached_at", "detached_at", nil},
		{Table{"pod", 1, `SELECT uid, namespace, name, phase, created_at, started_at, deleted_at, deleted_not_before FROM pods WHERE ` + ours},
			"created_at", "deleted_at", []string{"phase", "started_at"}},
	}
}

// notBefore names the column with the earlier bound of a moment.
var notBefore = map[string]string{"ended_at": "ended_not_before", "released_at": "released_not_before", "deleted_at": "deleted_not_before"}

// CountEvents adds how many changes of each kind the catalog has to have: an object is created and deleted once, and
// a volume mounted and unmounted.
func (t *Truth) CountEvents() {
	count := map[string]int{}
	for _, table := range []string{"volume", "claim", "pod"} {
		for uid, row := range t.Facts[table] {
			count[uid+" created"]++
			if row["deleted_at"] != absent {
				count[uid+" deleted"]++
			}
		}
	}
	for key, row := range t.Facts["mount"] {
		pod := strings.Fields(key)[0]
		count[pod+" mounted"]++
		if row["ended_at"] != absent {
			count[pod+" unmounted"]++
		}
	}
	for key, n := range count {
		t.Facts.put("event", []any{key}, map[string]cell{"times": text(n)})
	}
}
