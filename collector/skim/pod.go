package skim

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

// conditionFields keeps type (1), status (2), lastTransitionTime (4) and reason (5).
var conditionFields = keeping(numbers{1, 2, 4, 5}, nil)

// containerStatusFields keeps name (1), state (2), lastState (3), restartCount (5) and volumeMounts (12).
var containerStatusFields = keeping(numbers{1, 5, 12}, fields{2: stateFields, 3: stateFields})

// stateFields keeps waiting (1) and terminated (3) without message and containerID, and running (2).
var stateFields = keeping(numbers{2}, fields{1: keeping(numbers{1}, nil), 3: keeping(numbers{1, 2, 3, 5, 6}, nil)})
