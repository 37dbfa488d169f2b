package history

import (
	"slices"
	"strings"
	"testing"
)

// compareViews compares views with the model, in the columns that it knows.
func (h *history) compareViews(t *testing.T) {
	for _, view := range []struct {
		name string
		rows []row
	}{
		{"mount_history", h.mountsOfView(false)}, {"current_mounts", h.mountsOfView(true)}, {"current_claims", h.claimsOfView()}, {"current_volumes", h.volumesOfView()},
	} {
		t.Run(view.name, func(t *testing.T) {
			if len(view.rows) == 0 {
				t.Fatal("the model has no rows")
			}
			if differ := rowsDiffer(texts(h.read(t, view.name, view.rows[0])), texts(view.rows)); differ != "" {
				t.Errorf("seed %d: %s", h.seed, differ)
			}
			t.Logf("%d rows", len(view.rows))
		})
	}
}

// read reads the columns of a view that a row has.
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
