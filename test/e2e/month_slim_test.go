package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// slim removes from an object what is not recorded of it.
func slim(kind fact.Kind, o map[string]any) {
	metadata := inner(o, "metadata")
	keep(metadata, "namespace", "name", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"finalizers", "ownerReferences", "labels")
	keep(inner(metadata, "labels"), "app", monthLabel)
	for _, owner := range items(metadata, "ownerReferences") {
		keep(owner, "kind", "name", "uid", "controller")
	}
	switch kind {
	case fact.Pods:
		slimPod(o)
	case fact.Claims:
		for _, condition := range items(inner(o, "status"), "conditions") {
			keep(condition, "type", "status", "lastTransitionTime")
		}
	case fact.Volumes:
		keep(inner(inner(o, "spec"), "claimRef"), "namespace", "name", "uid")
		keep(inner(inner(o, "spec"), "csi"), "driver", "volumeHandle")
	case fact.StatefulSets:
		keep(inner(o, "spec"), "volumeClaimTemplates")
		for _, claim := range items(inner(o, "spec"), "volumeClaimTemplates") {
			keep(claim, "metadata")
		}
		keep(o, "metadata", "spec")
	case fact.Deployments, fact.ReplicaSets, fact.DaemonSets, fact.CronJobs, fact.Jobs:
		keep(o, "metadata")
	}
	delete(o, "apiVersion")
	delete(o, "kind")
}

func slimPod(o map[string]any) {
	spec, status := inner(o, "spec"), inner(o, "status")
	keep(spec, "nodeName", "serviceAccountName", "restartPolicy", "volumes", "initContainers", "containers", "ephemeralContainers")
	keep(status, "phase", "reason", "conditions", "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
	dropFrom(spec, "volumes", isToken)
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range items(spec, list) {
			keep(c, "name", "image", "command", "restartPolicy", "restartPolicyRules", "volumeMounts", "volumeDevices")
			dropFrom(c, "volumeMounts", isToken)
		}
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		for _, c := range items(status, list) {
			keep(c, "name", "restartCount", "state", "lastState")
			if len(inner(c, "lastState")) == 0 {
				delete(c, "lastState")
			}
		}
		dropFrom(status, list, func(c map[string]any) bool { return inner(c, "state")["waiting"] != nil && c["lastState"] == nil })
	}
	dropFrom(status, "conditions", func(c map[string]any) bool {
		return c["type"] != string(corev1.PodScheduled) && c["type"] != string(corev1.DisruptionTarget) && c["type"] != string(corev1.PodReady)
	})
	for _, condition := range items(status, "conditions") {
		keep(condition, "type", "status", "reason", "lastTransitionTime")
	}
}

// isToken is true for the volume of the service account's token, which every pod gets, and for its mounts.
func isToken(v map[string]any) bool {
	return strings.HasPrefix(fmt.Sprint(v["name"]), "kube-api-access-")
}

func keep(o map[string]any, fields ...string) {
	maps.DeleteFunc(o, func(field string, _ any) bool { return !slices.Contains(fields, field) })
}

func inner(o map[string]any, field string) map[string]any {
	m, _ := o[field].(map[string]any)
	return m
}

func items(o map[string]any, field string) (list []map[string]any) {
	all, _ := o[field].([]any)
	for _, item := range all {
		if m, ok := item.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

func dropFrom(o map[string]any, field string, drop func(map[string]any) bool) {
	var left []any
	for _, item := range items(o, field) {
		if !drop(item) {
			left = append(left, item)
		}
	}
	if delete(o, field); left != nil {
		o[field] = left
	}
}
