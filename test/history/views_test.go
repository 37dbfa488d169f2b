package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// compareViews compares views with the model, in the columns that it knows.
func (h *history) compareViews(t *testing.T) {
	for _, view := range []struct {
		name, where string
		rows        []row
	}{
		{"mount_history", "", h.mountsOfView(false)}, {"current_mounts", "", h.mountsOfView(true)}, {"current_claims", "", h.claimsOfView()},
		{"current_volumes", "", h.volumesOfView()}, {"idle_volumes", "", h.idleOfView()}, {"space_daily", "", h.spaceOfView()},
		// What begins and ends a life is compared by the tables and reports that have it.
		{"timeline", "WHERE action IN ('resize_requested', 'resized', 'phase', 'released', 'scheduled', 'deleting')", h.timelineOfView()},
	} {
		t.Run(view.name, func(t *testing.T) {
			if len(view.rows) == 0 {
				t.Fatal("the model has no rows")
			}
			if differ := rowsDiffer(texts(h.read(t, view.name+" "+view.where, view.rows[0])), texts(view.rows)); differ != "" {
				t.Errorf("seed %d: %s", h.seed, differ)
			}
			t.Logf("%d rows", len(view.rows))
		})
	}
}

// read reads the columns of a view, perhaps with a condition, that a row has.
func (h *history) read(t *testing.T, view string, like row) []row {
	t.Helper()
	var columns []string
	for name := range like {
		columns = append(columns, name)
	}
	result, err := h.catalog.Run(t.Context(), "SELECT "+strings.Join(columns, ", ")+" FROM "+view, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readAll(result)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func (h *history) mountsOfView(current bool) (rows []row) {
	for _, u := range h.uses(window{0, endOfTime()}, filters{}, "") {
		e := u.ended()
		if current && e.at != 0 {
			continue
		}
		r := u.row()
		r["workload"], r["owner"], r["groups"], r["node"], r["storage_class"] = u.pod.workloadName(), u.owner(), u.groups(), u.pod.node, u.class()
		r["pod_created_at"], r["pod_uid"], r["claim_uid"], r["volume_uid"] = u.pod.created, u.pod.uid, "", volumeUID(u)
		if c := u.store.claim; c != nil {
			r["claim_uid"] = c.uid
		}
		if !current {
			r["ended_at"], r["ended_not_before"], r["end_reason"] = e.at, e.notBefore, u.container.seen.reason
		}
		rows = append(rows, r)
	}
	return rows
}

// inUse reports whether a container has a volume mounted now.
func (m *model) inUse(v *volume) bool {
	return v != nil && slices.ContainsFunc(m.mounts(), func(u mount) bool { return u.volume() == v && u.ended().at == 0 })
}

func (h *history) claimsOfView() (rows []row) {
	for _, m := range h.models {
		for _, c := range m.claims {
			if !c.known || c.gone.at != 0 {
				continue
			}
			r := row{
				"cluster": m.cluster, "namespace": c.namespace, "claim": c.name, "phase": c.phase, "persistentvolume": "", "storage_class": c.class, "owner": c.owner,
				"groups": c.groups, "requested_bytes": c.requested, "capacity_bytes": c.capacity, "used_bytes": nil, "in_use": m.inUse(c.volume), "source": "", "backend": "",
				"created_at": c.created, "bound_at": c.bound, "uid": c.uid, "volume_uid": "",
			}
			if v := c.volume; v != nil {
				r["persistentvolume"], r["volume_uid"], r["source"], r["backend"], r["used_bytes"] = v.name, v.uid, v.source.kind, v.source.backend(), v.usedBy(now())
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func (h *history) volumesOfView() (rows []row) {
	for _, m := range h.models {
		for _, v := range m.volumes {
			if !v.known || v.gone.at != 0 {
				continue
			}
			r := row{
				"cluster": m.cluster, "persistentvolume": v.name, "phase": v.phase, "namespace": "", "claim": "", "storage_class": v.class, "source": v.source.kind,
				"backend": v.source.backend(), "capacity_bytes": v.size, "used_bytes": v.usedBy(now()), "in_use": m.inUse(v), "reclaim_policy": v.policy,
				"created_at": v.created, "phase_changed_at": v.phaseAt, "uid": v.uid, "claim_uid": "",
			}
			if c := v.claim; c != nil {
				r["namespace"], r["claim"], r["claim_uid"] = c.namespace, c.name, c.uid
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// idleOfView is the report idle without what grows by the clock. What was observed does not, as nobody watched since.
func (h *history) idleOfView() (rows []row) {
	for _, m := range h.models {
		for _, v := range m.volumes {
			if r, _, _ := m.idle(v, window{endOfTime(), endOfTime()}); r != nil {
				delete(r, "idle_seconds")
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// sumsOfDay are what a row of space_daily adds up.
type sumsOfDay struct{ claims, volumes, requested, capacity int64 }

// spaceOfView counts what there is at the end of each day until today, by the clock of the machine, as the view does.
func (h *history) spaceOfView() (rows []row) {
	const day = 86400 * second
	type key struct{ cluster, namespace, class string }
	for start := fact.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); start <= fact.At(time.Now()); start += day {
		sums := map[key]*sumsOfDay{}
		of := func(m *model, namespace, class string) *sumsOfDay {
			k := key{m.cluster, namespace, class}
			if sums[k] == nil {
				sums[k] = &sumsOfDay{}
			}
			return sums[k]
		}
		last := start + day - 1
		for _, m := range h.models {
			for _, c := range m.claims {
				if s := m.claimAt(c, last); s.claims > 0 {
					o := of(m, c.namespace, c.class)
					o.claims, o.requested = o.claims+1, o.requested+s.requested
				}
			}
			for _, v := range m.volumes {
				if namespace, size := m.tookSpace(v, last); size > 0 {
					o := of(m, namespace, v.class)
					o.volumes, o.capacity = o.volumes+1, o.capacity+size
				}
			}
		}
		for k, s := range sums {
			rows = append(rows, row{
				"day": start.Time().Format(time.DateOnly), "cluster": k.cluster, "namespace": k.namespace, "storage_class": k.class, "claims": s.claims, "bound_volumes": s.volumes,
				"requested_bytes": s.requested, "capacity_bytes": s.capacity,
			})
		}
	}
	return rows
}

// tookSpace returns the size of a volume at a moment, and the namespace of its last claim by then; no size before it was
// bound, and while it is gone, available again or failed.
func (m *model) tookSpace(v *volume, at fact.Time) (namespace string, size int64) {
	stay := m.stayAt(v, at)
	if !v.known || stay == nil || v.created > at || v.gone.at != 0 && at >= v.gone.at || m.freed(v, stay.bound, at) {
		return "", 0
	}
	return stay.claim.namespace, v.size - m.grew(nil, v, at)
}

// timelineOfView is what the lives of all objects have of changes.
func (h *history) timelineOfView() (rows []row) {
	for _, m := range h.models {
		for _, c := range m.changesOf(subjects{volumes: m.volumes, claims: m.claims, pods: m.pods}) {
			text := objectName(c.of) + ": " + c.action
			if c.details != "" {
				text += " " + c.details
			}
			rows = append(rows, row{"cluster": m.cluster, "time": c.at, "action": c.action, "details": c.details, "text": text})
		}
	}
	return rows
}
