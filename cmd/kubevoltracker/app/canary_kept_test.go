package app_test

import "strings"

// keptFields are the fields, of all kinds that are watched, whose texts the tracker may keep. The test fails for any
// other field, and for one on this list that is kept nowhere: a new field comes here with a reason in package redact.
var keptFields = []struct {
	of     string // what the fields are of
	fields string
}{
	{`CSIDriver CSIStorageCapacity CronJob DaemonSet Deployment Job Namespace Node PersistentVolume PersistentVolumeClaim
		Pod ReplicaSet StatefulSet StorageClass VolumeAttachment`, `
		metadata.annotations{example.com/kept} metadata.annotations{kubevoltracker.io/keep}
		metadata.annotations{kubevoltracker.io/owner} metadata.annotations{owner}
		metadata.annotations{pv.kubernetes.io/provisioned-by} metadata.annotations{team}
		metadata.annotations{volume.beta.kubernetes.io/mount-options}
		metadata.annotations{volume.beta.kubernetes.io/storage-class} metadata.annotations{volume.kubernetes.io/selected-node}
		metadata.annotations{volume.kubernetes.io/storage-provisioner} metadata.finalizers[] metadata.name
		metadata.ownerReferences[].apiVersion metadata.ownerReferences[].kind metadata.ownerReferences[].name
		metadata.ownerReferences[].uid metadata.uid`},
	{`CSIDriver CSIStorageCapacity Namespace Node PersistentVolume PersistentVolumeClaim Pod StatefulSet StorageClass
		VolumeAttachment`, `
		metadata.labels{app} metadata.labels{key} metadata.labels{}`},
	{`CSIDriver CSIStorageCapacity CronJob DaemonSet Deployment Job Namespace Node PersistentVolume PersistentVolumeClaim
		ReplicaSet StatefulSet StorageClass VolumeAttachment`, `
		metadata.namespace`},
	{`CSIDriver Node PersistentVolume PersistentVolumeClaim Pod StorageClass`, `
		metadata.managedFields[].manager`},
	{`PersistentVolumeClaim.spec Pod.spec.volumes[].ephemeral.volumeClaimTemplate.spec
		StatefulSet.spec.volumeClaimTemplates[].spec`, `
		accessModes[] dataSource.apiGroup dataSource.kind dataSource.name dataSourceRef.apiGroup dataSourceRef.kind
		dataSourceRef.name dataSourceRef.namespace selector.matchExpressions[].key selector.matchExpressions[].operator
		selector.matchExpressions[].values[] selector.matchLabels{app} selector.matchLabels{key} selector.matchLabels{}
		storageClassName volumeAttributesClassName volumeMode volumeName`},
	{`PersistentVolume.spec Pod.spec.volumes[]`, `
		awsElasticBlockStore.fsType awsElasticBlockStore.volumeID azureDisk.cachingMode azureDisk.diskName azureDisk.diskURI
		azureDisk.fsType azureDisk.kind azureFile.shareName cephfs.monitors[] cephfs.path cephfs.user cinder.fsType
		cinder.volumeID csi.driver csi.fsType csi.volumeAttributes{key} csi.volumeAttributes{server} csi.volumeAttributes{}
		fc.fsType fc.targetWWNs[] fc.wwids[] flexVolume.driver flexVolume.fsType flexVolume.options{key}
		flexVolume.options{share} flexVolume.options{} flocker.datasetName flocker.datasetUUID gcePersistentDisk.fsType
		gcePersistentDisk.pdName glusterfs.endpoints glusterfs.path hostPath.path hostPath.type iscsi.fsType
		iscsi.initiatorName iscsi.iqn iscsi.iscsiInterface iscsi.portals[] iscsi.targetPortal nfs.path nfs.server
		photonPersistentDisk.fsType photonPersistentDisk.pdID portworxVolume.fsType portworxVolume.volumeID quobyte.group
		quobyte.registry quobyte.tenant quobyte.user quobyte.volume rbd.fsType rbd.image rbd.monitors[] rbd.pool rbd.user
		scaleIO.fsType scaleIO.gateway scaleIO.protectionDomain scaleIO.storageMode scaleIO.storagePool scaleIO.system
		scaleIO.volumeName storageos.fsType storageos.volumeName storageos.volumeNamespace vsphereVolume.fsType
		vsphereVolume.storagePolicyID vsphereVolume.storagePolicyName vsphereVolume.volumePath`},
	{`Pod.spec.containers[] Pod.spec.initContainers[] Pod.spec.ephemeralContainers[]`, `
		command[] image name restartPolicy restartPolicyRules[].action restartPolicyRules[].exitCodes.operator
		volumeDevices[].devicePath volumeMounts[].mountPath volumeMounts[].recursiveReadOnly volumeMounts[].subPath
		volumeMounts[].subPathExpr`},
	{`Pod.status.containerStatuses[] Pod.status.initContainerStatuses[] Pod.status.ephemeralContainerStatuses[]`, `
		lastState.terminated.reason lastState.waiting.reason state.terminated.reason state.waiting.reason
		volumeMounts[].mountPath volumeMounts[].recursiveReadOnly`},
	{`CSIDriver`, `
		spec.fsGroupPolicy spec.volumeLifecycleModes[]`},
	{`CSIStorageCapacity`, `
		nodeTopology.matchExpressions[].key nodeTopology.matchExpressions[].operator nodeTopology.matchExpressions[].values[]
		nodeTopology.matchLabels{app} nodeTopology.matchLabels{key} nodeTopology.matchLabels{} storageClassName`},
	{`Namespace`, `
		status.phase`},
	{`PersistentVolume`, `
		spec.accessModes[] spec.claimRef.kind spec.csi.volumeHandle spec.glusterfs.endpointsNamespace spec.local.fsType
		spec.local.path spec.mountOptions[] spec.nodeAffinity.required.nodeSelectorTerms[].matchExpressions[].key
		spec.nodeAffinity.required.nodeSelectorTerms[].matchExpressions[].operator
		spec.nodeAffinity.required.nodeSelectorTerms[].matchExpressions[].values[]
		spec.nodeAffinity.required.nodeSelectorTerms[].matchFields[].key
		spec.nodeAffinity.required.nodeSelectorTerms[].matchFields[].operator
		spec.nodeAffinity.required.nodeSelectorTerms[].matchFields[].values[] spec.persistentVolumeReclaimPolicy
		spec.storageClassName spec.volumeAttributesClassName spec.volumeMode status.reason`},
	{`PersistentVolumeClaim`, `
		status.accessModes[] status.allocatedResourceStatuses{storage} status.conditions[].reason status.conditions[].type
		status.currentVolumeAttributesClassName status.modifyVolumeStatus.status
		status.modifyVolumeStatus.targetVolumeAttributesClassName status.phase`},
	{`Pod`, `
		spec.nodeName spec.restartPolicy spec.serviceAccountName spec.volumes[].emptyDir.medium
		spec.volumes[].gitRepo.directory spec.volumes[].gitRepo.repository spec.volumes[].gitRepo.revision
		spec.volumes[].image.pullPolicy spec.volumes[].image.reference spec.volumes[].name
		status.conditions[DisruptionTarget].reason status.conditions[PodScheduled].reason status.conditions[Ready].reason
		status.phase status.reason`},
	{`StatefulSet`, `
		spec.volumeClaimTemplates[].metadata.name`},
	{`StorageClass`, `
		allowedTopologies[].matchLabelExpressions[].key allowedTopologies[].matchLabelExpressions[].values[] mountOptions[]
		parameters{key} parameters{type} parameters{} provisioner reclaimPolicy volumeBindingMode`},
	{`VolumeAttachment`, `
		spec.attacher spec.nodeName spec.source.persistentVolumeName status.attachError.message status.detachError.message`},
}

// keptPaths returns the paths of keptFields.
func keptPaths() map[string]bool {
	paths := map[string]bool{}
	for _, group := range keptFields {
		for _, of := range strings.Fields(group.of) {
			for _, field := range strings.Fields(group.fields) {
				paths[of+"."+field] = true
			}
		}
	}
	return paths
}
