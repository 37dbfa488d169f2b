package inventory

import (
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// container is a container of a pod that mounts storage. container_use.go infers the interval in
// which it uses the storage.
type container struct {
	traits unique.Handle[containerTraits]
	rules  *[]corev1.ContainerRestartRule // rules of the restart policy; nearly always nil
	containerUse
	vouched fact.Time // when the kubelet last reported it as running or yet to start, by the API server's clock
	run     run
	fresh   bool // its row has not been emitted
}

// containerTraits are values that the containers of one template share.
type containerTraits struct {
	name, image, command string
	kind                 fact.ContainerKind
	always, onFailure    bool // whether every exit, or a failure, leads to a restart
}

func (c *container) row(pod *pod, version uint64) fact.Container {
	traits := c.traits.Value()
	return fact.Container{
		Version: version, Namespace: pod.namespace, PodCreatedAt: pod.created, PodUID: pod.uid, Name: traits.name, Kind: traits.kind, Image: traits.image, Command: traits.command,
		StartedAt: c.started, FinishedAt: c.finished, Restarts: c.restarts,
	}
}

// willRestart reports whether the container runs again after it has exited with exitCode.
func (c *container) willRestart(exitCode int32) bool {
	for _, rule := range c.restartRules() {
		if rule.ExitCodes == nil {
			continue
		}
		listed := slices.Contains(rule.ExitCodes.Values, exitCode)
		if listed == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return true // every action that exists restarts the container
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

// containerSpecs reads the containers of a pod's spec, in the order of podMounts.
func containerSpecs(o *corev1.Pod) []container {
	list := make([]container, 0, len(o.Spec.InitContainers)+len(o.Spec.Containers)+len(o.Spec.EphemeralContainers))
	add := func(kind fact.ContainerKind, c *corev1.Container) {
		policy := o.Spec.RestartPolicy
		if c.RestartPolicy != nil {
			policy = corev1.RestartPolicy(*c.RestartPolicy)
		}
		traits := containerTraits{name: c.Name, image: c.Image, command: firstWord(c.Command), kind: kind}
		switch kind {
		case fact.EphemeralContainer: // it is never restarted
		case fact.InitContainer: // an init container that succeeded is done, whatever the pod's policy
			traits.onFailure = policy != corev1.RestartPolicyNever
		default:
			traits.always, traits.onFailure = policy == corev1.RestartPolicyAlways, policy == corev1.RestartPolicyOnFailure
		}
		added := container{traits: unique.Make(traits), fresh: true}
		if len(c.RestartPolicyRules) > 0 {
			added.rules = &c.RestartPolicyRules
		}
		list = append(list, added)
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
