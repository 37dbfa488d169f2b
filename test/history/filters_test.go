package history

import "slices"

// takesClaim chooses a claim, by its own owner, and by the workloads that used it in a window.
func (f filters) takesClaim(m *model, c *claim, w window) bool {
	return c.known && f.takes(m, c.namespace, c.owner, c.groups, c.class) && f.takesUsed(m, c, w)
}

// takesUsed chooses a claim by the workloads that used it in a window, alone. A workload used no nil claim.
func (f filters) takesUsed(m *model, c *claim, w window) bool {
	uses := func(u mount) bool {
		return u.store.claim == c && w.overlaps(u.started(), u.ended().at) && f.takesPod(u.pod)
	}
	return f.workload == "" || c != nil && slices.ContainsFunc(m.mounts(), uses)
}

// takesVolume chooses a volume, by its class, and by the claim that it is bound to or was released from.
func (f filters) takesVolume(m *model, v *volume, w window) bool {
	return f.takesVolumeOf(m, v, v.claim, w)
}

// takesVolumeOf is takesVolume with a claim that the volume had, or nil.
func (f filters) takesVolumeOf(m *model, v *volume, c *claim, w window) bool {
	if !f.takes(m, f.namespace, f.owner, []string{f.group}, v.class) {
		return false
	}
	f.class = ""
	return f == filters{cluster: f.cluster} || c != nil && f.takesClaim(m, c, w)
}

// takesVolumeThen is takesVolume by the claim that the volume had at the moment of --at, or had last unless it was available again.
func (f filters) takesVolumeThen(m *model, v *volume, flags map[string]string, w window) bool {
	if flags["at"] == "" {
		return f.takesVolume(m, v, w)
	}
	return f.takesVolumeOf(m, v, m.claimThen(v, w.until), w)
}

// takesAClaimOf is takesVolume by all claims that the volume has had.
func (f filters) takesAClaimOf(m *model, v *volume, w window) bool {
	if !f.takes(m, f.namespace, f.owner, []string{f.group}, v.class) {
		return false
	}
	f.class = ""
	return f == filters{cluster: f.cluster} ||
		slices.ContainsFunc(m.claims, func(c *claim) bool { return c.volume == v && f.takesClaim(m, c, w) }) ||
		slices.ContainsFunc(m.bindings, func(b *binding) bool { return b.known && b.volume == v && f.takesClaim(m, b.claim, w) })
}
