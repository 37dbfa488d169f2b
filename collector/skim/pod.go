package skim

import (
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
)

// podFields are the fields of a Pod that redact keeps. The numbers are those of k8s.io/api/core/v1/generated.proto and
// k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto, which never change.
var podFields = keeping(nil, fields{1: metaFields, 2: specFields, 3: statusFields})

// metaFields leaves out generateName (2), selfLink (4) and generation (7), and of managedFields (17) apiVersion (3),
// fieldsType (6) and fieldsV1 (7).
var metaFields = keeping(numbers{1, 3, 5, 6, 8, 9, 10, 11, 12, 13, 14}, fields{17: keeping(numbers{1, 2, 4, 8}, nil)})

// specFields keeps volumes (1), containers (2), restartPolicy (3), serviceAccountName (8), nodeName (10),
// initContainers (20) and ephemeralContainers (34).
var specFields = keeping(numbers{3, 8, 10}, fields{
	1: volumeFields, 2: containerFields, 20: containerFields, 34: keeping(nil, fields{1: containerFields}),
})

// volumeFields keeps name (1) and source (2). A secret (6), a downwardAPI (16), a configMap (19) and a projected volume (26)
// are kept as empty: redact recognizes the volume by them, and drops it.
var volumeFields = keeping(numbers{1}, fields{2: keeping(
	numbers{1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 20, 21, 22, 23, 24, 25, 27, 28, 29, 30},
	fields{6: empty, 16: empty, 19: empty, 26: empty},
)})

// containerFields keeps name (1), image (2), command (3), volumeMounts (9), volumeDevices (21), restartPolicy (24) and
// restartPolicyRules (25).
var containerFields = keeping(numbers{1, 2, 3, 9, 21, 24, 25}, nil)

// statusFields keeps phase (1), reason (4), startTime (7), and parts of conditions (2) and of the statuses of containers (8),
// init containers (10) and ephemeral containers (13).
var statusFields = keeping(numbers{1, 4, 7}, fields{2: conditionFields, 8: containerStatusFields, 10: containerStatusFields, 13: containerStatusFields})

// conditionFields keeps type (1), status (2), lastTransitionTime (4) and reason (5) of the conditions that redact keeps.
var conditionFields = &message{fields: keeping(numbers{1, 2, 4, 5}, nil).fields, only: keptCondition}

func keptCondition(condition []byte) bool {
	kept := false
	for len(condition) > 0 {
		number, form, tag := protowire.ConsumeTag(condition)
		value := protowire.ConsumeFieldValue(number, form, condition[max(tag, 0):])
		if tag < 0 || value < 0 {
			return true // whoever decodes it says what is wrong
		}
		if number == 1 && form == protowire.BytesType {
			kind, _ := protowire.ConsumeBytes(condition[tag:])
			switch corev1.PodConditionType(kind) {
			case corev1.PodScheduled, corev1.DisruptionTarget, corev1.PodReady:
				kept = true
			default:
				kept = false
			}
		}
		condition = condition[tag+value:]
	}
	return kept
}

// containerStatusFields keeps name (1), state (2), lastState (3), restartCount (5) and volumeMounts (12).
var containerStatusFields = keeping(numbers{1, 5, 12}, fields{2: stateFields, 3: stateFields})

// stateFields keeps waiting (1) and terminated (3) without message and containerID, and running (2).
var stateFields = keeping(numbers{2}, fields{1: keeping(numbers{1}, nil), 3: keeping(numbers{1, 2, 3, 5, 6}, nil)})

// makeRoom gives a pod's largest lists the room that the message takes, which decoding would enlarge element by element.
func makeRoom(pod *corev1.Pod, message []byte) {
	_ = eachText(message, func(number protowire.Number, value []byte) {
		switch number {
		case 2:
			n := counts(value)
			pod.Spec.Volumes = room(pod.Spec.Volumes, n[1])
			pod.Spec.Containers = room(pod.Spec.Containers, n[2])
			pod.Spec.InitContainers = room(pod.Spec.InitContainers, n[20])
		case 3:
			n := counts(value)
			pod.Status.Conditions = room(pod.Status.Conditions, n[2])
			pod.Status.ContainerStatuses = room(pod.Status.ContainerStatuses, n[8])
			pod.Status.InitContainerStatuses = room(pod.Status.InitContainerStatuses, n[10])
		}
	})
}

// counts returns how often a message has each field, by number.
func counts(message []byte) (n [32]int) {
	_ = eachText(message, func(number protowire.Number, _ []byte) {
		if int(number) < len(n) {
			n[number]++
		}
	})
	return n
}

// room returns list with room for n elements; nil if there are none.
func room[T any](list []T, n int) []T {
	if n == 0 || cap(list) >= n {
		return list
	}
	return make([]T, 0, n)
}
