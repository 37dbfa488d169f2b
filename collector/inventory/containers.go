package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// container is one container of a pod that mounts storage.
//
// Its use of storage lasts from its first start to its last end. A container
// that has terminated and will be restarted (the pod's restart policy, or the
// container's own, says so) is between two runs of one use; one that will not be
// is at its end. What ends a pod ends its containers, too.
type container struct {
	row       Container
	notBefore Time // the earliest that FinishedAt can have been
	reason    string
	policy    restartPolicy
	run       run
}

// run is how the last run of a container ended, as far as it has and that is
// told.
type run struct {
	over     bool
	at       Time
	exitCode int32
	reason   string
}

// restartPolicy is what decides whether a terminated container runs again.
type restartPolicy struct {
	always, onFailure bool
	rules             []corev1.ContainerRestartRule
}

func (r *restartPolicy) restarts(exitCode int32) bool {
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.ExitCodes == nil {
			continue
		}
		listed := slices.Contains(rule.ExitCodes.Values, exitCode)
		if listed == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return true // every action there is restarts
		}
	}
	return r.always || (r.onFailure && exitCode != 0)
}

// containerSpecs reads the containers out of a pod's spec, in the order of
// podMounts.
func containerSpecs(o *corev1.Pod) []container {
	list := make([]container, 0, len(o.Spec.InitContainers)+len(o.Spec.Containers)+len(o.Spec.EphemeralContainers))
	add := func(kind ContainerKind, c *corev1.Container) {
		policy := o.Spec.RestartPolicy
		if c.RestartPolicy != nil {
			policy = corev1.RestartPolicy(*c.RestartPolicy)
		}
		r := restartPolicy{rules: c.RestartPolicyRules}
		switch {
		case kind == EphemeralContainer:
			r = restartPolicy{}
		case kind == InitContainer: // one that succeeded is done, whatever the pod's policy
			r.onFailure = policy != corev1.RestartPolicyNever
		default:
			r.always, r.onFailure = policy == corev1.RestartPolicyAlways, policy == corev1.RestartPolicyOnFailure
		}
		list = append(list, container{policy: r, row: Container{
			PodUID: string(o.UID), Name: c.Name, Kind: kind, Image: c.Image, Command: firstWord(c.Command),
		}})
	}
	for i := range o.Spec.InitContainers {
		c := &o.Spec.InitContainers[i]
		kind := InitContainer
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			kind = SidecarContainer
		}
		add(kind, c)
	}
	for i := range o.Spec.Containers {
		add(MainContainer, &o.Spec.Containers[i])
	}
	for i := range o.Spec.EphemeralContainers {
		c := corev1.Container(o.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		add(EphemeralContainer, &c)
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
}

// note takes a container's status.
func (c *container) note(s *corev1.ContainerStatus) {
	c.row.Restarts = s.RestartCount
	if t := s.LastTerminationState.Terminated; t != nil {
		c.row.StartedAt = earliest(c.row.StartedAt, apiTime(t.StartedAt))
	}
	last := s.State.Terminated
	switch {
	case s.State.Running != nil:
		c.row.StartedAt = earliest(c.row.StartedAt, apiTime(s.State.Running.StartedAt))
	case last != nil:
		c.row.StartedAt = earliest(c.row.StartedAt, apiTime(last.StartedAt))
	default: // waiting: to be restarted, if it has run
		last = s.LastTerminationState.Terminated
	}
	c.run = run{}
	if last != nil {
		c.run = run{over: true, at: apiTime(last.FinishedAt), exitCode: last.ExitCode, reason: last.Reason}
	}
}

// settle infers whether the container's use has ended, and when.
func (c *container) settle(end podEnd, seen Seen) {
	switch done := c.run.over && (end.going || !c.policy.restarts(c.run.exitCode)); {
	case c.row.StartedAt == 0 || !(done || end.over):
		c.row.FinishedAt, c.notBefore, c.reason = 0, 0, ""
	case c.run.at != 0:
		c.row.FinishedAt = latest(c.run.at, c.row.StartedAt)
		c.notBefore = c.row.FinishedAt
		c.reason = endReason(c.run.reason, end)
	case c.row.FinishedAt == 0: // it ended, and nothing tells when: it was seen to have
		c.row.FinishedAt = latest(seen.At, c.row.StartedAt)
		c.notBefore = latest(seen.NotBefore, c.row.StartedAt)
		c.reason = endReason("", end)
	}
}

// changed marks the container's row as one to be told if it is not what it was.
func (c *container) changed(old *container) bool {
	if c.row == old.row && c.notBefore == old.notBefore && c.reason == old.reason {
		return false
	}
	c.row.Version = 0
	return true
}

// endReason is the pod's reason, if it has one (Evicted, NodeLost), else the
// container's own (Completed, Error, OOMKilled).
func endReason(own string, end podEnd) string {
	switch {
	case end.reason != "":
		return end.reason
	case own != "":
		return own
	case end.going:
		return "Deleted"
	default:
		return "Unknown"
	}
}
