package inventory

import (
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// container is one container of a pod that mounts storage.
//
// Its use of storage lasts from its first start to its last end. A container
// that has terminated and will be restarted (the pod's restart policy, or the
// container's own, says so) is between two runs of one use; one that will not be
// is at its end. What ends a pod ends its containers, too.
type container struct {
	traits unique.Handle[containerTraits]
	rules  *[]corev1.ContainerRestartRule // of the restart policy; nearly always nil
	containerUse
	run   run
	fresh bool // row has not gone out
}

// containerTraits is what the containers of a template have in common.
type containerTraits struct {
	name, image, command string
	kind                 fact.ContainerKind
	always, onFailure    bool // what is restarted
}

// containerUse is what is inferred of a container.
type containerUse struct {
	started, finished, notBefore fact.Time
	reason                       intern.Word // zero while it is in use
	restarts                     int32
}

// run is how the last run of a container ended, as far as it has and that is
// told.
type run struct {
	at       fact.Time
	reason   intern.Word
	exitCode int32
	over     bool
}

func (c *container) row(pod *pod, version uint64) fact.Container {
	traits := c.traits.Value()
	return fact.Container{
		Version: version, PodUID: pod.uid, Name: traits.name, Kind: traits.kind, Image: traits.image, Command: traits.command,
		StartedAt: c.started, FinishedAt: c.finished, Restarts: c.restarts,
	}
}

// willRestart reports whether the container runs again after it has exited so.
func (c *container) willRestart(exitCode int32) bool {
	for _, rule := range c.restartRules() {
		if rule.ExitCodes == nil {
			continue
		}
		listed := slices.Contains(rule.ExitCodes.Values, exitCode)
		if listed == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return true // every action there is restarts
		}
	}
	traits := c.traits.Value()
	return traits.always || (traits.onFailure && exitCode != 0)
}

func (c *container) restartRules() []corev1.ContainerRestartRule {
	if c.rules == nil {
		return nil
	}
	return *c.rules
}

// containerSpecs reads the containers out of a pod's spec, in the order of
// podMounts.
func containerSpecs(o *corev1.Pod) []container {
	list := make([]container, 0, len(o.Spec.InitContainers)+len(o.Spec.Containers)+len(o.Spec.EphemeralContainers))
	add := func(kind fact.ContainerKind, c *corev1.Container) {
		policy := o.Spec.RestartPolicy
		if c.RestartPolicy != nil {
			policy = corev1.RestartPolicy(*c.RestartPolicy)
		}
		traits := containerTraits{name: c.Name, image: c.Image, command: firstWord(c.Command), kind: kind}
		switch kind {
		case fact.EphemeralContainer: // never restarted
		case fact.InitContainer: // one that succeeded is done, whatever the pod's policy
			traits.onFailure = policy != corev1.RestartPolicyNever
		default:
			traits.always, traits.onFailure = policy == corev1.RestartPolicyAlways, policy == corev1.RestartPolicyOnFailure
		}
		held := container{traits: unique.Make(traits), fresh: true}
		if len(c.RestartPolicyRules) > 0 {
			held.rules = &c.RestartPolicyRules
		}
		list = append(list, held)
	}
	for i := range o.Spec.InitContainers {
		c := &o.Spec.InitContainers[i]
		kind := fact.InitContainer
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			kind = fact.SidecarContainer
		}
		add(kind, c)
	}
	for i := range o.Spec.Containers {
		add(fact.MainContainer, &o.Spec.Containers[i])
	}
	for i := range o.Spec.EphemeralContainers {
		c := corev1.Container(o.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		add(fact.EphemeralContainer, &c)
	}
	return list
}

func firstWord(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return command[0]
}

// podEnd is why all of a pod's containers have ended, whatever they say
// themselves.
type podEnd struct {
	over   bool
	going  bool // deletion was asked for: nothing is restarted any more
	reason string
	asked  fact.Time // since when the pod was to end; zero if it came to an end by itself
}

// note takes a container's status.
func (c *container) note(s *corev1.ContainerStatus) {
	c.restarts = s.RestartCount
	if t := s.LastTerminationState.Terminated; t != nil {
		c.started = earliest(c.started, apiTime(t.StartedAt))
	}
	last := s.State.Terminated
	switch {
	case s.State.Running != nil:
		c.started = earliest(c.started, apiTime(s.State.Running.StartedAt))
	case last != nil:
		c.started = earliest(c.started, apiTime(last.StartedAt))
	default: // waiting: to be restarted, if it has run
		last = s.LastTerminationState.Terminated
	}
	c.run = run{}
	if last != nil {
		c.run = run{over: true, at: apiTime(last.FinishedAt), exitCode: last.ExitCode, reason: unique.Make(last.Reason)}
	}
}

// settle infers whether the container's use has ended, and when.
func (c *container) settle(end podEnd, seen Observation) {
	done := c.run.over && (end.going || !c.willRestart(c.run.exitCode))
	switch {
	case c.started == 0 || (!done && !end.over):
		c.finished, c.notBefore, c.reason = 0, 0, intern.Word{}
	case c.run.at != 0:
		c.finished = latest(c.run.at, c.started)
		c.notBefore = c.finished
		c.reason = c.endReason(c.run, end)
	case c.finished == 0: // it ended, and nothing tells when: it was seen to have
		c.notBefore, c.finished = seen.bounds(c.started)
		c.reason = c.endReason(run{}, end)
	}
}

// endReason is why a container's use has ended. What ends a pod explains its
// containers' ends, however they put it themselves (Error, as they were killed), but
// not those that came before.
func (c *container) endReason(last run, end podEnd) intern.Word {
	own := last.reason != intern.Word{} && last.reason.Value() != ""
	before := end.asked != 0 && last.at < end.asked || last.exitCode == 0 && c.traits.Value().kind == fact.InitContainer
	switch {
	case own && before:
		return last.reason
	case end.reason != "":
		return unique.Make(end.reason)
	case end.going && end.asked != 0 && (last.at > end.asked || last.at == end.asked && last.exitCode != 0): // in whole seconds
		return deletedReason
	case own:
		return last.reason
	case end.going:
		return deletedReason
	default:
		return unique.Make("Unknown")
	}
}

// deletedReason is that of a container whose pod was deleted.
var deletedReason = unique.Make("Deleted")
