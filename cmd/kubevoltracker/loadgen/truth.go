package loadgen

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// truth is what an account proves: the rows that a catalog must have, by table and key.
type truth struct {
	plan   *PlanLine
	rows   map[string]map[string]row
	bind   []bound
	life   map[string]*life // of all objects, by UID
	behind []string         // the kinds whose last events the catalog lacks
	alien  map[string]bool  // UIDs in the catalog under names of the run, which the account does not have
}

// row has the wanted values of a row's columns.
type row map[string]want

// life is what an account says of one object.
type life struct {
	kind, name, uid string
	versions        []version // in the order of their resource versions
	gone            *Line     // the observation that it was removed
	asked           time.Time // when a deletion was first asked for and granted; zero if the account does not say
}

// version is an observed state. The API server gives all kinds one order of resource versions.
type version struct {
	*Line
	number uint64
}

func (l *life) last() version  { return l.versions[len(l.versions)-1] }
func (l *life) first() version { return l.versions[0] }

// deleted is when the object was removed.
func (l *life) deleted() want {
	if l.gone == nil {
		return absent
	}
	created := *l.first().Created
	return within(latest(created, l.asked, l.before(l.gone)), l.gone.At).after(created)
}

// before returns a moment at which the object was still in the state before an observed one: when that was observed,
// less the time by which the watch may have been late. It is zero if there was no such state.
func (l *life) before(line *Line) (at time.Time) {
	for _, v := range l.versions {
		if v.Line == line {
			break
		}
		at = v.At.Add(-lateness)
	}
	return at
}

func latest(moments ...time.Time) time.Time { return slices.MaxFunc(moments, time.Time.Compare) }

// newTruth computes the wanted rows.
func newTruth(lines []Line) (*truth, error) {
	t := &truth{plan: lines[0].Plan, life: map[string]*life{}, alien: map[string]bool{}, rows: map[string]map[string]row{}}
	for _, table := range tables {
		t.rows[table.name] = map[string]row{}
	}
	for i := range lines {
		if err := t.note(&lines[i]); err != nil {
			return nil, err
		}
	}
	for _, l := range t.life {
		if len(l.versions) == 0 {
			continue
		}
		slices.SortStableFunc(l.versions, func(a, b version) int { return cmp.Compare(a.number, b.number) })
		if l.kind == VolumeKind {
			t.addVolume(l)
		}
	}
	for _, l := range t.life {
		switch {
		case len(l.versions) == 0:
			t.addUnseen(l)
		case l.kind == ClaimKind:
			t.addClaim(l)
		case l.kind == PodKind:
			t.addPod(l)
		}
	}
	return t, nil
}

// note takes a line into the life of its object.
func (t *truth) note(line *Line) error {
	if line.UID == "" || line.Kind != PodKind && line.Kind != ClaimKind && line.Kind != VolumeKind {
		return nil
	}
	l := t.life[line.UID]
	if l == nil {
		l = &life{kind: line.Kind, name: line.Name, uid: line.UID}
		t.life[line.UID] = l
	}
	switch line.Action {
	case Delete:
		if l.asked.IsZero() && line.Error == "" {
			l.asked = line.At
		}
	case Observed:
		number, err := strconv.ParseUint(line.ResourceVersion, 10, 64)
		if err != nil || line.Created == nil || !line.hasObject() {
			return fmt.Errorf("--file: the line about %s %s has no state or resource version", line.Kind, line.Name)
		}
		l.versions = append(l.versions, version{line, number})
		if line.Gone {
			l.gone = line
		}
	}
	return nil
}

func keyOf(columns ...any) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, fmt.Sprint(c))
	}
	return strings.Join(parts, " ")
}

// addUnseen adds the row of an object whose creation the API server confirmed, and which the watch has not shown.
func (t *truth) addUnseen(l *life) {
	table := map[string]string{PodKind: "pods", ClaimKind: "claims", VolumeKind: "volumes"}[l.kind]
	t.rows[table][keyOf(l.uid)] = row{"name": text(l.name)}
}

func (t *truth) addVolume(l *life) {
	v := l.last().Volume
	t.rows["volumes"][keyOf(l.uid)] = row{
		"name": text(l.name), "phase": text(v.Phase), "source_kind": text(v.Source), "capacity_bytes": text(v.Capacity),
		"reclaim_policy": text(v.Reclaim), "claim_uid": text(v.ClaimUID), "created_at": exactly(l.first().Created), "deleted_at": l.deleted(),
	}
	spans := boundSpans(l)
	t.bind = append(t.bind, spans...)
	ordinal := map[string]int{}
	for _, s := range spans {
		claim := t.life[s.claim]
		if claim == nil {
			continue
		}
		t.rows["bindings"][keyOf(s.claim, s.volume, ordinal[s.claim])] = row{
			"namespace": text(Namespace), "claim_name": text(claim.name), "bound_at": exactly(s.start), "released_at": s.end,
		}
		ordinal[s.claim]++
	}
}

// bound is a time in which a claim and a volume were bound to each other.
type bound struct {
	claim, volume string
	number        uint64 // the resource version of its beginning
	start         *time.Time
	end           want
}

// boundSpans follows a volume's phase and claimRef.
func boundSpans(l *life) (spans []bound) {
	var open *bound
	for _, v := range l.versions {
		holder := ""
		if v.Volume.Phase == "Bound" {
			holder = v.Volume.ClaimUID
		}
		if open != nil && open.claim != holder {
			open.end = within(latest(*open.start, l.before(v.Line)), v.At)
			if v.Volume.Phase != "Bound" && v.Volume.PhaseChanged != nil {
				open.end = exactly(v.Volume.PhaseChanged)
			}
			open.end.since = *open.start
			open = nil
		}
		if open == nil && holder != "" && v.Volume.PhaseChanged != nil {
			spans = append(spans, bound{claim: holder, volume: l.uid, number: v.number, start: v.Volume.PhaseChanged, end: absent})
			open = &spans[len(spans)-1]
		}
	}
	if open != nil && l.gone != nil {
		open.end = within(latest(*open.start, l.asked, l.before(l.gone)), l.gone.At).after(*open.start)
	}
	return spans
}

// boundTo returns how a claim was last bound by a resource version; nil if it was not.
func (t *truth) boundTo(claim string, number uint64) (latest *bound) {
	for i := range t.bind {
		if s := &t.bind[i]; s.claim == claim && s.number <= number && (latest == nil || s.number > latest.number) {
			latest = s
		}
	}
	return latest
}

const ever = ^uint64(0)

func (t *truth) addClaim(l *life) {
	c := l.last().Claim
	r := row{
		"namespace": text(Namespace), "name": text(l.name), "phase": text(c.Phase), "volume_name": text(c.Volume), "owner": text(c.Owner),
		"requested_bytes": text(c.Request), "capacity_bytes": text(c.Capacity), "ephemeral": text(false), "pod_uid": text(""),
		"created_at": exactly(l.first().Created), "deleted_at": l.deleted(), "volume_uid": text(t.promised(l)), "bound_at": absent,
	}
	if t.isEphemeral(l) {
		r["ephemeral"], r["pod_uid"] = text(true), text(c.Pod)
	}
	if s := t.boundTo(l.uid, ever); s != nil {
		r["volume_uid"], r["bound_at"] = text(s.volume), exactly(s.start)
	}
	t.rows["claims"][keyOf(l.uid)] = r
}

// promised returns the volume that a claim names, if the claimRef of that volume ever had the UID of the claim.
func (t *truth) promised(claim *life) string {
	for uid, l := range t.life {
		if l.kind == VolumeKind && l.name == claim.last().Claim.Volume &&
			slices.ContainsFunc(l.versions, func(v version) bool { return v.Volume.ClaimUID == claim.uid }) {
			return uid
		}
	}
	return ""
}

// isEphemeral reports whether a claim was made for a generic ephemeral volume of the pod that controls it.
func (t *truth) isEphemeral(l *life) bool {
	pod := t.life[l.last().Claim.Pod]
	return pod != nil && len(pod.versions) > 0 && slices.ContainsFunc(pod.last().Pod.Mounts, func(m MountState) bool {
		return m.Claim == l.name && m.Claim == pod.name+"-"+m.Volume
	})
}
