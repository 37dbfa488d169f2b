package main

import (
	"bytes"
	"embed"
	"io/fs"

	nodestart "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodelease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
)

// podStages say what a kubelet would do with a pod. They differ from kwok's own in that
// times are as a storage tracker needs them: a container's startedAt survives its end,
// init containers run in turn, and a deleted pod says when its containers ended.
// Each patch names the pod's UID, as a kubelet's do: the API server refuses one that comes
// late, when another pod has the name. A deletion of kwok's cannot name it.
//
// All annotations that steer them begin with localcluster.kubevoltracker.io/.
//
//go:embed stages/*.yaml
var podStages embed.FS

// stageFile returns everything that kwok is to do, as one file: for nodes its own
// stages, for pods ours.
func stageFile() ([]byte, error) {
	documents := [][]byte{[]byte(nodestart.DefaultNodeInit), []byte(nodelease.DefaultNodeHeartbeatWithLease)}
	files, err := fs.Glob(podStages, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := podStages.ReadFile(file)
		if err != nil {
			return nil, err
		}
		documents = append(documents, data)
	}
	return bytes.Join(documents, []byte("\n---\n")), nil
}
