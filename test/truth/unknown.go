package truth

import (
	"slices"
	"strings"
	"time"
)

// lost reports whether nobody can know of a row's subject: it came and went within a lossy gap.
func (t *Truth) lost(table scopeTable, key string, want map[string]cell, away Gaps) bool {
	object := strings.Fields(key)[0]
	switch table.Name {
	case "container":
		return t.lost(scopeTable{from: "created_at", to: "deleted_at"}, object, t.Facts["pod"][object], away)
	case "event":
		for _, of := range []string{"pod", "claim", "volume"} {
			if row := t.Facts[of][object]; row != nil && away.losesEither(row["created_at"], row["deleted_at"]) {
				return true
			}
		}
		for mount, row := range t.Facts["mount"] {
			if strings.HasPrefix(mount, object) && away.losesEither(row["started_at"], row["ended_at"]) {
				return true
			}
		}
		return false
	}
	from, ok := want[table.from].moment()
	to, ended := want[table.to].moment()
	// The API's times are whole seconds.
	return ok && ended && (away.loses(from, to) || away.loses(from.Add(time.Second), to))
}

// nameless reports whether a column of a mount cannot be known, because its claim came and went within a lossy gap,
// or was bound to its volume only then. The pod names a claim that nobody knows, or one that was created anew in the
// second of the pod's start, or a claim of an unknown volume.
func (t *Truth) nameless(table scopeTable, mount map[string]cell, column string, away Gaps) bool {
	if table.Name != "mount" || !slices.Contains([]string{"claim_uid", "source_kind", "volume_uid"}, column) {
		return false
	}
	uid := mount["claim_uid"].text
	claim := t.Facts["claim"][uid]
	if claim != nil && t.lost(scopeTable{from: "created_at", to: "deleted_at"}, uid, claim, away) {
		return true
	}
	return column != "claim_uid" && claim != nil && t.unbound(uid, mount["volume_uid"].text, away)
}

// unbound reports whether nobody can know that a claim and a volume were bound to each other.
func (t *Truth) unbound(claim, volume string, away Gaps) bool {
	for binding, row := range t.Facts["binding"] {
		if part := strings.Fields(binding); part[0] == claim && part[1] == volume && !t.lost(scopeTable{from: "bound_at", to: "released_at"}, binding, row, away) {
			return false
		}
	}
	return volume != ""
}

// passed reports whether an object ended within a lossy gap, so that its last state is lost.
func (t *Truth) passed(table scopeTable, key string, want map[string]cell, away Gaps) bool {
	if table.passing == nil {
		return false
	}
	if table.Name == "container" {
		want = t.Facts["pod"][strings.Fields(key)[0]]
	}
	at, ended := want["deleted_at"].moment()
	return ended && away.loses(at, at)
}
