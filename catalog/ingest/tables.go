package ingest

import (
	"math"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// tables returns the tables in the order in which a batch is written. A tracker that is killed may have written only
// the first tables of a batch, and lose the journal with the rest; RestoreCatalog then has to find every object that
// still exists. So the order is:
//
//   - objects come first: nothing can be restored without them.
//   - The end of a thing comes before the end of the thing that it belongs to: mounts before their container, pod,
//     claim and volume, a binding before its volume.
//   - checkpoints come after all tables that a snapshot is restored from: they say that these are complete.
func tables() []table {
	return []table{
		objects(), namespaces(), storageClasses(), storageCapacity(), usage(), volumeSources(), volumeUses(), volumeStates(), mounts(), containers(), pods(),
		attachments(), bindings(), claims(), volumes(), changes(), checkpoints(), coverageTable(),
	}
}

var allTables = tables()

// cutRows moves up to n rows from the front of facts, in the order of tables, without copying them. The row that makes them longer than
// the given bytes of text is the last one. It returns how many bytes are left.
func cutRows(facts *fact.Facts, n, bytes int) (rows fact.Facts, left int) {
	for _, t := range allTables {
		fitting, used := t.fit(facts, n, bytes)
		n -= t.cut(&rows, facts, fitting)
		bytes -= used
	}
	return rows, bytes
}

// bytesOf returns how many bytes of text rows have, those of their objects included.
func bytesOf(facts *fact.Facts) (bytes int) {
	for _, t := range allTables {
		_, used := t.fit(facts, math.MaxInt, math.MaxInt)
		bytes += used
	}
	for i := range facts.Objects {
		if from := facts.Objects[i].From; from != nil {
			bytes += from.Size()
		}
	}
	return bytes
}

// copyRows appends a copy of all rows of src to dst.
func copyRows(dst, src *fact.Facts) {
	for _, t := range allTables {
		t.copy(dst, src)
	}
}

func namespaces() table {
	type row = fact.Namespace
	return declare("namespaces", func(f *fact.Facts) *[]row { return &f.Namespaces },
		key("uid", func(r *row) string { return r.UID }),
		plain("name", func(r *row) string { return r.Name }),
		plain("labels", func(r *row) map[string]string { return r.Labels }),
		plain("owner", func(r *row) string { return r.Owner }),
		plain("groups", func(r *row) []string { return r.Groups }),
		nullable("created_at", func(r *row) fact.Time { return r.CreatedAt }),
		nullable("deleted_at", func(r *row) fact.Time { return r.DeletedAt }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func storageCapacity() table {
	type row = fact.StorageCapacity
	return declare("storage_capacity", func(f *fact.Facts) *[]row { return &f.StorageCapacity },
		moment("at", func(r *row) fact.Time { return r.At }),
		plain("uid", func(r *row) string { return r.UID }),
		plain("storage_class", func(r *row) string { return r.StorageClass }),
		plain("driver", func(r *row) string { return r.Driver }),
		plain("topology", func(r *row) string { return r.Topology }),
		plain("capacity_bytes", func(r *row) *int64 {
			if r.Gone {
				return nil
			}
			return &r.CapacityBytes
		}),
		plain("maximum_volume_bytes", func(r *row) int64 { return r.MaximumVolumeBytes }),
		plain("resource_version", func(r *row) string { return r.ResourceVersion }),
	)
}

func usage() table {
	type row = fact.Usage
	return declare("usage", func(f *fact.Facts) *[]row { return &f.Usage },
		moment("at", func(r *row) fact.Time { return r.At }),
		plain("namespace", func(r *row) string { return r.Namespace }),
		plain("claim_uid", func(r *row) string { return r.ClaimUID }),
		plain("volume_uid", func(r *row) string { return r.VolumeUID }),
		plain("capacity_bytes", func(r *row) int64 { return r.CapacityBytes }),
		plain("used_bytes", func(r *row) int64 { return r.UsedBytes }),
		plain("available_bytes", func(r *row) int64 { return r.AvailableBytes }),
		plain("inodes", func(r *row) int64 { return r.Inodes }),
		plain("inodes_used", func(r *row) int64 { return r.InodesUsed }),
	)
}

func attachments() table {
	type row = fact.Attachment
	return declare("attachments", func(f *fact.Facts) *[]row { return &f.Attachments },
		key("uid", func(r *row) string { return r.UID }),
		plain("volume_uid", func(r *row) string { return r.VolumeUID }),
		plain("node", func(r *row) string { return r.Node }),
		plain("attacher", func(r *row) string { return r.Attacher }),
		nullable("created_at", func(r *row) fact.Time { return r.CreatedAt }),
		plain("attached", func(r *row) bool { return r.Attached }),
		nullable("attached_at", func(r *row) fact.Time { return r.AttachedAt }),
		nullable("detached_at", func(r *row) fact.Time { return r.DetachedAt }),
		plain("error", func(r *row) string { return r.Error }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func storageClasses() table {
	type row = fact.StorageClass
	return declare("storage_classes", func(f *fact.Facts) *[]row { return &f.StorageClasses },
		key("uid", func(r *row) string { return r.UID }),
		plain("name", func(r *row) string { return r.Name }),
		plain("provisioner", func(r *row) string { return r.Provisioner }),
		plain("reclaim_policy", func(r *row) string { return r.ReclaimPolicy }),
		plain("binding_mode", func(r *row) string { return r.BindingMode }),
		plain("expansion", func(r *row) bool { return r.Expansion }),
		plain("parameters", func(r *row) map[string]string { return r.Parameters }),
		nullable("created_at", func(r *row) fact.Time { return r.CreatedAt }),
		nullable("deleted_at", func(r *row) fact.Time { return r.DeletedAt }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func volumeSources() table {
	type row = fact.VolumeSource
	return declare("volume_sources", func(f *fact.Facts) *[]row { return &f.VolumeSources },
		key("id", func(r *row) string { return r.ID }),
		plain("kind", func(r *row) string { return r.Kind }),
		plain("driver", func(r *row) string { return r.Driver }),
		plain("server", func(r *row) string { return r.Server }),
		plain("path", func(r *row) string { return r.Path }),
		plain("attributes", func(r *row) map[string]string { return r.Attributes }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func volumes() table {
	type row = fact.Volume
	return declare("volumes", func(f *fact.Facts) *[]row { return &f.Volumes },
		key("uid", func(r *row) string { return r.UID }),
		plain("name", func(r *row) string { return r.Name }),
		plain("storage_class", func(r *row) string { return r.StorageClass }),
		plain("attributes_class", func(r *row) string { return r.AttributesClass }),
		plain("source_kind", func(r *row) string { return r.SourceKind }),
		plain("source_id", func(r *row) string { return r.SourceID }),
		plain("driver", func(r *row) string { return r.Driver }),
		plain("volume_handle", func(r *row) string { return r.VolumeHandle }),
		plain("capacity_bytes", func(r *row) int64 { return r.CapacityBytes }),
		plain("access_modes", func(r *row) []string { return r.AccessModes }),
		plain("volume_mode", func(r *row) string { return r.VolumeMode }),
		plain("reclaim_policy", func(r *row) string { return r.ReclaimPolicy }),
		plain("node_affinity", func(r *row) string { return r.NodeAffinity }),
		plain("phase", func(r *row) string { return r.Phase }),
		nullable("phase_changed_at", func(r *row) fact.Time { return r.PhaseChangedAt }),
		nullable("unseen_use_at", func(r *row) fact.Time { return r.UnseenUseAt }),
		plain("claim_uid", func(r *row) string { return r.ClaimUID }),
		plain("claim_namespace", func(r *row) string { return r.ClaimNamespace }),
		plain("claim_name", func(r *row) string { return r.ClaimName }),
		plain("labels", func(r *row) map[string]string { return r.Labels }),
		plain("annotations", func(r *row) map[string]string { return r.Annotations }),
		nullable("created_at", func(r *row) fact.Time { return r.CreatedAt }),
		nullable("deleted_at", func(r *row) fact.Time { return r.DeletedAt }),
		nullable("deleted_not_before", func(r *row) fact.Time { return r.DeletedNotBefore }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func claims() table {
	type row = fact.Claim
	return declare("claims", func(f *fact.Facts) *[]row { return &f.Claims },
		key("uid", func(r *row) string { return r.UID }),
		key("namespace", func(r *row) string { return r.Namespace }),
		plain("name", func(r *row) string { return r.Name }),
		plain("storage_class", func(r *row) string { return r.StorageClass }),
		plain("volume_uid", func(r *row) string { return r.VolumeUID }),
		plain("volume_name", func(r *row) string { return r.VolumeName }),
		plain("requested_bytes", func(r *row) int64 { return r.RequestedBytes }),
		plain("capacity_bytes", func(r *row) int64 { return r.CapacityBytes }),
		plain("access_modes", func(r *row) []string { return r.AccessModes }),
		plain("volume_mode", func(r *row) string { return r.VolumeMode }),
		plain("phase", func(r *row) string { return r.Phase }),
		plain("owner", func(r *row) string { return r.Owner }),
		plain("groups", func(r *row) []string { return r.Groups }),
		plain("ephemeral", func(r *row) bool { return r.Ephemeral }),
		plain("pod_uid", func(r *row) string { return r.PodUID }),
		plain("workload_kind", func(r *row) string { return r.WorkloadKind }),
		plain("workload_name", func(r *row) string { return r.WorkloadName }),
		plain("data_source_kind", func(r *row) string { return r.DataSourceKind }),
		plain("data_source_name", func(r *row) string { return r.DataSourceName }),
		plain("attributes_class", func(r *row) string { return r.AttributesClass }),
		plain("current_attributes_class", func(r *row) string { return r.CurrentAttributesClass }),
		plain("conditions", func(r *row) []string { return r.Conditions }),
		plain("selected_node", func(r *row) string { return r.SelectedNode }),
		nullable("unused_since", func(r *row) fact.Time { return r.UnusedSince }),
		plain("labels", func(r *row) map[string]string { return r.Labels }),
		plain("annotations", func(r *row) map[string]string { return r.Annotations }),
		nullable("created_at", func(r *row) fact.Time { return r.CreatedAt }),
		nullable("bound_at", func(r *row) fact.Time { return r.BoundAt }),
		nullable("deleted_at", func(r *row) fact.Time { return r.DeletedAt }),
		nullable("deleted_not_before", func(r *row) fact.Time { return r.DeletedNotBefore }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func pods() table {
	type row = fact.Pod
	return declare("pods", func(f *fact.Facts) *[]row { return &f.Pods },
		key("uid", func(r *row) string { return r.UID }),
		key("namespace", func(r *row) string { return r.Namespace }),
		plain("name", func(r *row) string { return r.Name }),
		plain("node", func(r *row) string { return r.Node }),
		plain("service_account", func(r *row) string { return r.ServiceAccount }),
		plain("owner", func(r *row) string { return r.Owner }),
		plain("groups", func(r *row) []string { return r.Groups }),
		plain("workload_kind", func(r *row) string { return r.WorkloadKind }),
		plain("workload_name", func(r *row) string { return r.WorkloadName }),
		plain("workload_uid", func(r *row) string { return r.WorkloadUID }),
		plain("phase", func(r *row) string { return r.Phase }),
		plain("reason", func(r *row) string { return r.Reason }),
		plain("labels", func(r *row) map[string]string { return r.Labels }),
		keyMoment("created_at", func(r *row) fact.Time { return r.CreatedAt }),
		nullable("started_at", func(r *row) fact.Time { return r.StartedAt }),
		nullable("finished_at", func(r *row) fact.Time { return r.FinishedAt }),
		nullable("deleted_at", func(r *row) fact.Time { return r.DeletedAt }),
		uncertainty("deleted_uncertainty", func(r *row) (at, notBefore fact.Time) { return r.DeletedAt, r.DeletedNotBefore }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func containers() table {
	type row = fact.Container
	return declare("containers", func(f *fact.Facts) *[]row { return &f.Containers },
		key("namespace", func(r *row) string { return r.Namespace }),
		keyMoment("pod_created_at", func(r *row) fact.Time { return r.PodCreatedAt }),
		key("pod_uid", func(r *row) string { return r.PodUID }),
		key("name", func(r *row) string { return r.Name }),
		plain("kind", func(r *row) string { return string(r.Kind) }),
		plain("image", func(r *row) string { return r.Image }),
		plain("command", func(r *row) string { return r.Command }),
		nullable("started_at", func(r *row) fact.Time { return r.StartedAt }),
		nullable("finished_at", func(r *row) fact.Time { return r.FinishedAt }),
		plain("restarts", func(r *row) int32 { return r.Restarts }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func bindings() table {
	type row = fact.Binding
	return declare("bindings", func(f *fact.Facts) *[]row { return &f.Bindings },
		key("namespace", func(r *row) string { return r.Namespace }),
		plain("claim_name", func(r *row) string { return r.ClaimName }),
		key("claim_uid", func(r *row) string { return r.ClaimUID }),
		key("volume_uid", func(r *row) string { return r.VolumeUID }),
		key("ordinal", func(r *row) uint16 { return r.Ordinal }),
		nullable("bound_at", func(r *row) fact.Time { return r.BoundAt }),
		nullable("released_at", func(r *row) fact.Time { return r.ReleasedAt }),
		nullable("released_not_before", func(r *row) fact.Time { return r.ReleasedNotBefore }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func mounts() table {
	type row = fact.Mount
	return declare("mounts", func(f *fact.Facts) *[]row { return &f.Mounts },
		key("namespace", func(r *row) string { return r.Namespace }),
		key("claim_name", func(r *row) string { return r.ClaimName }),
		keyMoment("pod_created_at", func(r *row) fact.Time { return r.PodCreatedAt }),
		key("pod_uid", func(r *row) string { return r.PodUID }),
		key("container", func(r *row) string { return r.Container }),
		key("volume", func(r *row) string { return r.Volume }),
		key("mount_path", func(r *row) string { return r.MountPath }),
		plain("node", func(r *row) string { return r.Node }),
		plain("sub_path", func(r *row) string { return r.SubPath }),
		plain("read_only", func(r *row) bool { return r.ReadOnly }),
		plain("recursive_read_only", func(r *row) bool { return r.RecursiveReadOnly }),
		plain("block_device", func(r *row) bool { return r.BlockDevice }),
		plain("source_kind", func(r *row) string { return r.SourceKind }),
		plain("source_id", func(r *row) string { return r.SourceID }),
		plain("claim_uid", func(r *row) string { return r.ClaimUID }),
		plain("volume_uid", func(r *row) string { return r.VolumeUID }),
		plain("claim_volumes", func(r *row) uint16 { return r.ClaimVolumes }),
		plain("inline_volumes", func(r *row) uint16 { return r.InlineVolumes }),
		plain("owner", func(r *row) string { return r.Owner }),
		plain("groups", func(r *row) []string { return r.GroupList() }),
		plain("workload_kind", func(r *row) string { return r.WorkloadKind }),
		plain("workload_name", func(r *row) string { return r.WorkloadName }),
		moment("started_at", func(r *row) fact.Time { return r.StartedAt }),
		uncertainty("started_uncertainty", func(r *row) (at, notBefore fact.Time) { return r.StartedAt, r.StartedNotBefore }),
		nullable("ended_at", func(r *row) fact.Time { return r.EndedAt }),
		uncertainty("ended_uncertainty", func(r *row) (at, notBefore fact.Time) { return r.EndedAt, r.EndedNotBefore }),
		plain("end_reason", func(r *row) string { return r.EndReason }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func volumeUses() table {
	type row = fact.VolumeUse
	return declare("volume_uses", func(f *fact.Facts) *[]row { return &f.VolumeUses },
		key("volume_uid", func(r *row) string { return r.VolumeUID }),
		plain("in_use", func(r *row) bool { return r.InUse }),
		nullable("last_ended_at", func(r *row) fact.Time { return r.LastEndedAt }),
		nullable("last_ended_not_before", func(r *row) fact.Time { return r.LastEndedNotBefore }),
		plain("last_namespace", func(r *row) string { return r.LastNamespace }),
		plain("last_pod_uid", func(r *row) string { return r.LastPodUID }),
		plain("last_pod", func(r *row) string { return r.LastPod }),
		plain("last_workload_kind", func(r *row) string { return r.LastWorkloadKind }),
		plain("last_workload_name", func(r *row) string { return r.LastWorkloadName }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func volumeStates() table {
	type row = fact.VolumeStateRow
	return declare("volume_states", func(f *fact.Facts) *[]row { return &f.VolumeStates },
		key("volume_uid", func(r *row) string { return r.VolumeUID }),
		plain("name", func(r *row) string { return r.Name }),
		plain("phase", func(r *row) string { return r.Phase }),
		plain("status", func(r *row) string { return string(r.Status) }),
		nullable("status_since", func(r *row) fact.Time { return r.StatusSince }),
		nullable("idle_since", func(r *row) fact.Time { return r.IdleSince }),
		nullable("unused_since", func(r *row) fact.Time { return r.UnusedSince }),
		plain("claim_uid", func(r *row) string { return r.ClaimUID }),
		plain("claim_namespace", func(r *row) string { return r.ClaimNamespace }),
		plain("claim_name", func(r *row) string { return r.ClaimName }),
		plain("owner", func(r *row) string { return r.Owner }),
		plain("groups", func(r *row) []string { return r.Groups }),
		plain("storage_class", func(r *row) string { return r.StorageClass }),
		plain("reclaim_policy", func(r *row) string { return r.ReclaimPolicy }),
		plain("capacity_bytes", func(r *row) int64 { return r.CapacityBytes }),
		nullable("keep_until", func(r *row) fact.Time { return r.KeepUntil }),
		plain("keep_reason", func(r *row) string { return r.KeepReason }),
		plain("keep_unreadable", func(r *row) string { return r.KeepUnreadable }),
		rowVersion(func(r *row) *uint64 { return &r.Version }),
	)
}

func changes() table {
	type row = fact.Change
	return declare("changes", func(f *fact.Facts) *[]row { return &f.Changes },
		moment("at", func(r *row) fact.Time { return r.At }),
		plain("kind", func(r *row) string { return r.Kind }),
		plain("uid", func(r *row) string { return r.UID }),
		plain("namespace", func(r *row) string { return r.Namespace }),
		plain("name", func(r *row) string { return r.Name }),
		plain("action", func(r *row) string { return string(r.Action) }),
		plain("details", func(r *row) string { return r.Details }),
		plain("actor", func(r *row) string { return r.Actor }),
		plain("resource_version", func(r *row) string { return r.ResourceVersion }),
	)
}

func objects() table {
	type row = fact.Object
	return declare("objects", func(f *fact.Facts) *[]row { return &f.Objects },
		plain("kind", func(r *row) string { return string(r.Kind) }),
		plain("uid", func(r *row) string { return r.UID }),
		plain("namespace", func(r *row) string { return r.Namespace }),
		plain("name", func(r *row) string { return r.Name }),
		plain("resource_version", func(r *row) string { return r.ResourceVersion }),
		moment("observed_at", func(r *row) fact.Time { return r.ObservedAt }),
		plain("object", func(r *row) string { return r.Object }),
	)
}

func coverageTable() table {
	type row = fact.Coverage
	return declare("coverage", func(f *fact.Facts) *[]row { return &f.Coverage },
		plain("instance", func(r *row) string { return r.Instance }),
		plain("kind", func(r *row) string { return string(r.Kind) }),
		moment("started_at", func(r *row) fact.Time { return r.StartedAt }),
		moment("seen_at", func(r *row) fact.Time { return r.SeenAt }),
		nullable("ended_at", func(r *row) fact.Time { return r.EndedAt }),
		plain("version", func(r *row) uint64 { return r.Version }),
	)
}

func checkpoints() table {
	type row = fact.Checkpoint
	return declare("checkpoints", func(f *fact.Facts) *[]row { return &f.Checkpoints },
		plain("instance", func(r *row) string { return r.Instance }),
		plain("kind", func(r *row) string { return string(r.Kind) }),
		plain("resource_version", func(r *row) string { return r.ResourceVersion }),
		plain("event_version", func(r *row) string { return r.EventVersion }),
		moment("at", func(r *row) fact.Time { return r.At }),
	)
}
