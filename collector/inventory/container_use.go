package inventory

import (
	"cmp"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// containerUse is the interval in which a container uses the storage that it mounts (rules 3.1 to
// 3.6).
type containerUse struct {
	started, finished, notBefore fact.Time
	reason                       intern.Word // zero while it is in use
	restarts                     int32
	startUnknown                 bool // it ran before the first start that its status shows
}

// run is the present run of a container, or its last one if that has ended.
type run struct {
	at       fact.Time // when it ended, or when it began if it has not; 0 if the kubelet gives no time
	reason   intern.Word
	exitCode int32
	over     bool
	dated    bool // its end has been compared with the evidence (rule 3.5)
}

// podEnd is why all of a pod's containers have ended, whatever their own statuses say.
type podEnd struct {
	over    bool
	going   bool // deletion was requested: nothing is restarted any more
	deleted bool // the pod is gone from the API
	reason  string
	asked   fact.Time // when the end of the pod was requested; zero if it ended by itself
	said    fact.Time // when the kubelet last wrote the pod's status (kubeletSaid)
}

// clockSlack is the tolerance between a node's report of a start or an end and the API server's
// times (rule 3.5): 5 s. NTP keeps clocks within a second, the API's times are whole seconds, and a
// kubelet notices an end up to a second late, or somewhat later on a busy node.
const clockSlack = fact.Time(5_000_000)

// note takes a container's status. It clamps starts to the API server's times (rule 3.2). said is
// the last moment at which the kubelet can have written the status, or 0 if unknown; first is true
// if nothing of the pod has been observed before.
func (c *container) note(s *corev1.ContainerStatus, p *pod, said fact.Time, first bool) {
	c.restarts = s.RestartCount
	var began fact.Time // the earliest run whose start the status shows
	runs := int32(0)    // how many runs the status shows
	saw := func(start fact.Time) {
		if start != 0 {
			began, runs = earliest(began, start), runs+1
		}
	}
	now, last := run{}, s.State.Terminated
	if t := s.LastTerminationState.Terminated; t != nil {
		saw(apiTime(t.StartedAt))
	}
	switch {
	case s.State.Running != nil:
		now.at = apiTime(s.State.Running.StartedAt)
		saw(now.at)
	case last != nil:
		saw(apiTime(last.StartedAt))
	default: // waiting: to be restarted, if it has run
		last = s.LastTerminationState.Terminated
	}
	switch {
	case began != 0:
		c.noteStart(began, runs, p, said)
	case c.started == 0 && first && mayHaveRun(last):
		c.started, c.startUnknown = latest(p.created, p.scheduled), true
	}
	if last != nil {
		now = run{over: true, at: apiTime(last.FinishedAt), exitCode: last.ExitCode, reason: unique.Make(last.Reason)}
	}
	now.dated = c.run.dated
	if now != c.run {
		now.dated = false
		c.run = now
	}
}

// waitSlack is how late a busy kubelet may report that a container waits: 60 s.
const waitSlack = fact.Time(60_000_000)

// noteStart takes the first start that a status shows, and the number of runs that it shows. The
// start lies after the pod was scheduled, after the kubelet last reported that the container waits,
// and before said. The containers of a mirror pod may have started before the pod was created.
func (c *container) noteStart(began fact.Time, runs int32, p *pod, said fact.Time) {
	if c.started != 0 && p.clockOff {
		return // it has been corrected already
	}
	scheduled, waited := latest(p.created, p.scheduled), fact.Time(0)
	if c.started == 0 {
		waited = c.vouched
		c.startUnknown = c.restarts >= runs
	}
	switch {
	case said != 0 && began > said+clockSlack:
		p.clockOff, began = true, said
	case began+waitSlack < waited:
		p.clockOff, began = true, waited
		c.startUnknown = true // the kubelet may have reported the waiting late
	case began+clockSlack < scheduled && !p.mirror:
		p.clockOff, began = true, scheduled
	}
	c.started = earliest(c.started, latest(began, p.created))
}

// mayHaveRun reports whether a container may have run before its pod was first observed: its status
// is ContainerStatusUnknown, without a time (rule 3.6).
func mayHaveRun(last *corev1.ContainerStateTerminated) bool {
	return last != nil && last.Reason == "ContainerStatusUnknown"
}

// startedNotBefore returns the earliest moment at which the use can have begun (rule 3.2).
func (c *container) startedNotBefore(p *pod) fact.Time {
	if c.startUnknown {
		return min(latest(p.created, p.scheduled), c.started)
	}
	return c.started
}

// infer infers whether the container's use has ended, when, and why. said is as in note.
func (inv *Inventory) infer(p *pod, c *container, end podEnd, said fact.Time, obs Observation) {
	done := c.run.over && (!c.willRestart(c.run.exitCode) || inv.wasLast(p, c, end))
	switch {
	case c.started == 0 || !done && !end.over: // rule 3.1: the use continues, or the container is between two runs
		c.finished, c.notBefore, c.reason = 0, 0, intern.Word{}
		c.run.dated = false
	case done && c.run.at != 0:
		if !c.run.dated {
			c.run.dated = true
			c.notBefore, c.finished = p.reportedEnd(c, said, obs)
		}
		c.reason = c.endReason(c.run, end)
	case c.finished == 0:
		c.notBefore, c.finished = inv.unreportedEnd(p, c, end, said, obs)
		c.reason = c.endReason(c.unreported(), end)
	}
}

// byPodGC is the reason of a pod that pod GC failed because its node is gone
// (pod_gc_controller.go); no kubelet writes it.
const byPodGC = "DeletionByPodGC"

// wasLast reports whether the last known run of a container is its last one, although a container
// that exits this way is restarted (rule 3.1). A kubelet restarts nothing in a pod that is to end,
// and reports that. Before that report the container may have run again, and the node may have been
// lost.
func (inv *Inventory) wasLast(p *pod, c *container, end podEnd) bool {
	switch {
	case !end.going && !end.over:
		return false
	case c.run.dated: // it was decided before
		return true
	case end.asked != 0 && end.said > end.asked: // the kubelet has known of the end
		return true
	case end.asked != 0 && c.run.at >= end.asked && !p.clockOff: // the end of the pod has ended it
		return true
	case !end.over || end.deleted || end.reason == byPodGC:
		return false
	default: // the kubelet reports that the pod is over; if its node is lost, other components do
		_, lost := inv.lifeOfNode(p, max(c.started, c.vouched, end.said))
		return !lost
	}
}

// reportedEnd bounds an end that the kubelet has dated, by its node's clock (rule 3.5). The date is
// believed if it lies between the last evidence of the container's life and the kubelet's report,
// and if the clock has not been off before. Otherwise those two moments bound the end.
func (p *pod) reportedEnd(c *container, said fact.Time, obs Observation) (notBefore, at fact.Time) {
	alive, reported := latest(c.started, c.vouched), c.run.at
	early, late := reported+clockSlack < alive, said != 0 && reported > said+clockSlack
	if early || late || p.clockOff {
		return alive, latest(cmp.Or(said, obs.At), alive)
	}
	at = latest(reported, c.started)
	return at, at
}

// nodeGrace is how long a dead node may still be Ready: node-monitor-grace-period, 50 s (40 s
// before Kubernetes 1.32), plus the time until its controller has written it.
const nodeGrace = fact.Time(60_000_000)

// unreportedEnd bounds an end that the kubelet has not dated (rule 3.6). Nobody observed it; it
// came after the last evidence of life. A living kubelet reports an end, and deletes its pod only
// afterwards. So a pod that was deleted in between lived as long as its node did.
func (inv *Inventory) unreportedEnd(p *pod, c *container, end podEnd, said fact.Time, obs Observation) (notBefore, at fact.Time) {
	heartbeat, lost := inv.lifeOfNode(p, latest(c.started, c.vouched))
	alive := max(c.started, c.vouched, min(heartbeat, obs.NotBefore)) // after that the pod may be gone while the node lives
	if c.run.over && !p.clockOff {                                    // it was to be restarted
		alive = latest(alive, min(c.run.at, obs.NotBefore))
	}
	switch {
	case c.run.over && c.run.at == 0: // the kubelet reported the end, but not its time
		at = cmp.Or(said, obs.At)
	case end.deleted && !lost:
		alive = latest(alive, obs.NotBefore-nodeGrace)
		fallthrough
	default:
		at = obs.At
	}
	return alive, latest(at, alive)
}

// unreported returns the last run of a container whose end the kubelet has not dated; the kubelet
// may still give a reason (ContainerStatusUnknown).
func (c *container) unreported() run {
	if c.run.over && c.run.at == 0 {
		return c.run
	}
	return run{}
}

// said returns the last moment (rule 3.3) at which the kubelet can have written the observed status
// of a pod, by the API server's clock: when it last wrote the status, or, if managedFields do not
// show that, the moment of the observation. It returns 0 if the tracker's clock is behind the API
// server's, so that the moment is unknown.
func (inv *Inventory) said(kubelet fact.Time, obs Observation) fact.Time {
	switch {
	case kubelet != 0:
		return kubelet + almostASecond
	case inv.restoring || obs.At+clockSlack < inv.serverTime:
		return 0
	default:
		return obs.At
	}
}

// endReason returns why a container's use has ended. The reason of the pod's end also explains the
// ends of its containers, whatever their own statuses say (Error, for a killed one), except for
// ends that came before the pod's end.
func (c *container) endReason(last run, end podEnd) intern.Word {
	own := intern.Text(last.reason) != ""
	switch {
	case own && endedBefore(c, last, end):
		return last.reason
	case end.reason != "":
		return unique.Make(end.reason)
	case end.going && endedByDeletion(last, end):
		return deletedReason
	case own:
		return last.reason
	case end.going:
		return deletedReason
	default:
		return unknownReason
	}
}

// endedBefore reports whether a container ended before its pod was to end, and so has its own
// reason.
func endedBefore(c *container, last run, end podEnd) bool {
	completedInit := last.exitCode == 0 && c.traits.Value().kind == fact.InitContainer
	return completedInit || end.asked != 0 && last.at < end.asked
}

// endedByDeletion reports whether a container ended after the deletion of its pod was requested. If
// both lie in the same whole second, the exit code decides: a killed container failed.
func endedByDeletion(last run, end podEnd) bool {
	killedThen := last.at == end.asked && last.exitCode != 0
	return end.asked != 0 && (last.at > end.asked || killedThen)
}

var (
	deletedReason = unique.Make("Deleted") // the reason of a container whose pod was deleted
	unknownReason = unique.Make("Unknown")
)

// trackerSlack is how far the tracker's clock may be behind the API server's: a minute.
const trackerSlack = fact.Time(60_000_000)

// kubeletSaid returns when the kubelet last wrote a pod's status, by the API server's clock; zero
// if managedFields do not show it. Whoever may patch a pod may also write a manager and a time into
// its managedFields, but no later time than the present counts.
func (inv *Inventory) kubeletSaid(o *corev1.Pod, obs Observation) (at fact.Time) {
	for i := range o.ManagedFields {
		if e := &o.ManagedFields[i]; e.Subresource == "status" && isKubelet(e.Manager) {
			at = latest(at, apiTimePtr(e.Time))
		}
	}
	return min(at, max(obs.At, inv.serverTime)+trackerSlack)
}

// isKubelet reports whether a field manager is a kubelet, or a component in its place.
func isKubelet(manager string) bool {
	return manager == "kubelet" || manager == "virtual-kubelet" || manager == "kwok"
}
