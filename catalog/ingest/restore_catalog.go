package ingest

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The questions of RestoreCatalog are about one cluster. They select the objects that exist, for all that the
// catalog knows.
//
// A tracker that was killed and lost its journal may have written only the first tables of a batch: a mount and not
// its pod, or a binding and not its volume (see tables). Such pods and volumes count as existing until a list lacks
// them. The volumes and claims that an existing pod mounts are selected even if they are deleted: they are needed
// to say what the pod uses or used.
//
// A question that says FINAL itself ends in SETTINGS final = 0, as Catalog.Each asks with final = 1: the lists in its
// indexHint are read without FINAL, because only then can ClickHouse use the indexes of deleted_at and ended_at.
const (
	// keysOfPods selects the existing pods, and those of mounts without a pod, by the columns of their sorting key: a
	// history has millions of pods, and few are left.
	keysOfPods = `
    SELECT cluster, namespace, created_at, uid FROM pods FINAL
    WHERE cluster = {cluster:String} AND deleted_at IS NULL
      AND indexHint((cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, created_at, uid FROM pods WHERE cluster = {cluster:String} AND deleted_at IS NULL))
    UNION ALL
    SELECT cluster, namespace, pod_created_at, pod_uid FROM mounts FINAL
    WHERE cluster = {cluster:String} AND ended_at IS NULL
      AND indexHint((cluster, namespace, claim_name, pod_created_at, pod_uid) IN (
          SELECT cluster, namespace, claim_name, pod_created_at, pod_uid FROM mounts WHERE cluster = {cluster:String} AND ended_at IS NULL))
      AND (cluster, namespace, pod_created_at, pod_uid) NOT IN (
          SELECT cluster, namespace, created_at, uid FROM pods
          WHERE (cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM mounts WHERE cluster = {cluster:String} AND ended_at IS NULL))`

	// ofPods follows FROM mounts, and selects those of the existing pods.
	ofPods = `FINAL
    PREWHERE cluster = {cluster:String} AND pod_created_at IN (SELECT created_at FROM (` + keysOfPods + `))
    WHERE (cluster, namespace, pod_created_at, pod_uid) IN (` + keysOfPods + `)`

	uidsOfVolumes = `(
    SELECT uid FROM volumes FINAL WHERE cluster = {cluster:String} AND deleted_at IS NULL
    UNION ALL
    SELECT volume_uid FROM mounts ` + ofPods + `
    UNION ALL
    SELECT volume_uid FROM bindings FINAL
    WHERE cluster = {cluster:String} AND released_at IS NULL AND volume_uid NOT IN (SELECT uid FROM volumes WHERE cluster = {cluster:String}))`
	uidsOfClaims = `(
    SELECT uid FROM claims FINAL WHERE cluster = {cluster:String} AND deleted_at IS NULL
    UNION ALL
    SELECT claim_uid FROM mounts ` + ofPods + `)`

	// existingObjects selects of each object the last version whose rows are all written: its resource version
	// is at most the checkpoint of its kind. If there is none, it selects the last version and marks it as
	// incomplete. A version that is no number is never complete. Controllers are left out: the pods and claims
	// that they made name them. Only the objects of these versions are read. If a version has several rows, any will do:
	// they differ at most in the annotations that a tracker keeps, and the tracker lists all objects anew.
	existingObjects = `
WITH latest AS (
    SELECT kind, uid, countIf(written) = 0 AS incomplete,
        if(incomplete, argMax(resource_version, (number, observed_at)), argMaxIf(resource_version, (number, observed_at), written)) AS resource_version
    FROM
    (
        SELECT o.kind AS kind, o.uid AS uid, o.resource_version AS resource_version, o.observed_at AS observed_at,
            toUInt64OrZero(o.resource_version) AS number, number BETWEEN 1 AND c.reached AS written
        FROM (SELECT kind, uid, resource_version, observed_at FROM objects FINAL WHERE cluster = {cluster:String}) AS o
        LEFT JOIN
        (
            SELECT kind, max(toUInt64OrZero(resource_version)) AS reached FROM checkpoints FINAL WHERE cluster = {cluster:String} GROUP BY kind
        ) AS c ON c.kind = o.kind
    )
    WHERE (kind = 'PersistentVolume' AND uid IN ` + uidsOfVolumes + `)
        OR (kind = 'PersistentVolumeClaim' AND uid IN ` + uidsOfClaims + `)
        OR (kind = 'Pod' AND uid IN (SELECT uid FROM (` + keysOfPods + `)))
        OR (kind = 'Namespace' AND uid IN (SELECT uid FROM namespaces FINAL WHERE cluster = {cluster:String} AND deleted_at IS NULL))
        OR (kind = 'StorageClass' AND uid IN (SELECT uid FROM storage_classes FINAL WHERE cluster = {cluster:String} AND deleted_at IS NULL))
        OR (kind = 'VolumeAttachment' AND uid IN (SELECT uid FROM attachments FINAL WHERE cluster = {cluster:String} AND detached_at IS NULL))
        OR (kind = 'CSIStorageCapacity' AND uid IN (
            SELECT uid FROM storage_capacity FINAL WHERE cluster = {cluster:String} GROUP BY uid HAVING argMax(tuple(capacity_bytes), at).1 IS NOT NULL))
        OR (kind IN ('Node', 'CSIDriver') AND uid NOT IN (
            SELECT uid FROM changes WHERE cluster = {cluster:String} AND kind IN ('Node', 'CSIDriver') AND action = 'deleted'))
    GROUP BY kind, uid
)
SELECT o.kind, o.uid, l.incomplete, o.object, o.resource_version
FROM (SELECT kind, uid, resource_version, object FROM objects WHERE cluster = {cluster:String}) AS o
INNER JOIN latest AS l ON l.kind = o.kind AND l.uid = o.uid AND l.resource_version = o.resource_version
LIMIT 1 BY o.kind, o.uid
SETTINGS final = 0`

	existingVolumes = `
SELECT v.uid, v.deleted_at, v.deleted_not_before, v.phase_changed_at, b.claim, b.namespace, b.name, b.ordinal, b.bound, b.released, b.released_not_before, m.last_used, v.unseen_use_at,
    s.capacity_bytes, s.used_bytes, s.available_bytes, s.inodes, s.inodes_used, c.owner, c.groups, c.labels
FROM (SELECT * FROM volumes FINAL WHERE cluster = {cluster:String} AND uid IN ` + uidsOfVolumes + `) AS v
LEFT JOIN (
    SELECT uid, owner, groups, labels FROM claims FINAL WHERE cluster = {cluster:String}) AS c ON c.uid = v.claim_uid
LEFT JOIN (
    SELECT volume_uid, argMax(claim_uid, version) AS claim, argMax(namespace, version) AS namespace, argMax(claim_name, version) AS name,
        argMax(ordinal, version) AS ordinal, argMax(tuple(bound_at), version).1 AS bound,
        argMax(tuple(released_at), version).1 AS released, argMax(tuple(released_not_before), version).1 AS released_not_before
    FROM bindings FINAL WHERE cluster = {cluster:String} GROUP BY volume_uid) AS b ON b.volume_uid = v.uid
LEFT JOIN (
    SELECT volume_uid, last_ended_at AS last_used FROM volume_uses FINAL WHERE cluster = {cluster:String}) AS m ON m.volume_uid = v.uid
LEFT JOIN (
    SELECT * FROM last_usage FINAL WHERE cluster = {cluster:String}) AS s ON s.volume_uid = v.uid
SETTINGS join_use_nulls = 1, final = 0`

	existingClaims = `
SELECT uid, deleted_at, deleted_not_before, bound_at, workload_kind, workload_name, volume_uid
FROM claims FINAL
WHERE cluster = {cluster:String} AND uid IN ` + uidsOfClaims + `
SETTINGS final = 0`

	existingPods = `
SELECT uid, workload_kind, workload_name, workload_uid
FROM pods FINAL
WHERE (cluster, namespace, created_at, uid) IN (` + keysOfPods + `)
SETTINGS final = 0`

	existingContainers = `
SELECT c.pod_uid, c.name, c.started_at, c.finished_at, m.not_before, m.reason, m.start_unknown
FROM (
    SELECT pod_uid, name, started_at, finished_at FROM containers FINAL
    WHERE started_at IS NOT NULL AND (cluster, namespace, pod_created_at, pod_uid) IN (` + keysOfPods + `)) AS c
LEFT JOIN (
    SELECT pod_uid, container, max(ended_not_before) AS not_before, any(end_reason) AS reason,
        max(started_not_before < started_at) AS start_unknown
    FROM mounts ` + ofPods + `
    GROUP BY pod_uid, container) AS m ON m.pod_uid = c.pod_uid AND m.container = c.name
SETTINGS join_use_nulls = 1, final = 0`

	existingAttachments = `
SELECT uid, attached, attached_at FROM attachments WHERE cluster = {cluster:String} AND detached_at IS NULL`

	watchedUntil = `
SELECT kind, max(seen_at) FROM coverage WHERE cluster = {cluster:String} AND instance != {instance:String} GROUP BY kind`
)

// RestoreCatalog reads the snapshot of a cluster from the catalog: the objects that exist, for all that the catalog
// knows, and their use; the last moment at which each kind was watched by another instance than the given one; and
// the spans in which any instance watched pods. It returns nil if the catalog knows nothing of the cluster. Errors
// are *catalog.Error.
func RestoreCatalog(ctx context.Context, c *catalog.Catalog, cluster, instance string) (*fact.Snapshot, error) {
	r := catalogReader{
		questions: newQuestions(ctx, c, cluster, instance),
		snapshot:  &fact.Snapshot{Positions: map[fact.Kind]fact.Position{}},
		objects:   map[[2]string]*fact.ObjectSnapshot{},
	}
	r.snapshot.Version = r.versions().highest
	r.each(watchedUntil, r.readPosition)
	r.readWatched()
	r.each(existingVolumes, r.readVolume)
	r.each(existingClaims, r.readClaim)
	r.each(existingPods, r.readPod)
	r.each(existingContainers, r.readContainer)
	r.each(existingAttachments, r.readAttachment)
	r.each(existingObjects, r.readObject) // last: it takes what the others have read
	if r.err != nil || (len(r.saved) == 0 && len(r.snapshot.Positions) == 0) {
		return nil, r.err
	}
	r.snapshot.Objects = r.saved
	return r.snapshot, nil
}

// catalogReader collects the rows of the questions of RestoreCatalog.
type catalogReader struct {
	*questions
	snapshot *fact.Snapshot
	objects  map[[2]string]*fact.ObjectSnapshot // by kind and UID
	saved    fact.SavedList
}

func (r *catalogReader) object(kind fact.Kind, uid string) *fact.ObjectSnapshot {
	key := [2]string{string(kind), uid}
	if r.objects[key] == nil {
		r.objects[key] = &fact.ObjectSnapshot{Kind: kind, UID: uid}
	}
	return r.objects[key]
}

func (r *catalogReader) readPosition(rows driver.Rows) error {
	var kind string
	var seen time.Time
	err := rows.Scan(&kind, &seen)
	r.snapshot.Positions[fact.Kind(kind)] = fact.Position{Kind: fact.Kind(kind), At: fact.At(seen)}
	return err
}

func (r *catalogReader) readWatched() {
	if r.err != nil {
		return
	}
	var spans []catalog.Span
	spans, r.err = r.catalog.Watched(r.ctx, r.parameters["cluster"])
	for _, s := range spans {
		r.snapshot.Watched = append(r.snapshot.Watched, fact.Span{From: fact.At(s.From), To: fact.At(s.To)})
	}
}

func (r *catalogReader) readVolume(rows driver.Rows) error {
	var uid string
	var claim, claimNamespace, claimName *string
	var ordinal *uint16
	var deleted, deletedNotBefore, phased, bound, released, releasedNotBefore, used, unseen *time.Time
	var capacity, usedBytes, available, inodes, inodesUsed *int64
	var owner *string
	var groups []string
	var labels map[string]string
	err := rows.Scan(&uid, &deleted, &deletedNotBefore, &phased, &claim, &claimNamespace, &claimName, &ordinal, &bound, &released, &releasedNotBefore, &used, &unseen,
		&capacity, &usedBytes, &available, &inodes, &inodesUsed, &owner, &groups, &labels)
	o := r.object(fact.Volumes, uid)
	if claim != nil {
		o.ClaimUID, o.ClaimNamespace, o.ClaimName, o.BindingOrdinal = *claim, *claimNamespace, *claimName, *ordinal
	}
	if usedBytes != nil {
		o.Space = &fact.Space{CapacityBytes: *capacity, UsedBytes: *usedBytes, AvailableBytes: *available, Inodes: *inodes, InodesUsed: *inodesUsed}
	}
	if owner != nil {
		o.Claimant = &fact.Claimant{Owner: *owner, Groups: groups, Labels: labels}
	}
	o.Deleted, o.NotBefore = at(deleted), at(deletedNotBefore)
	o.PhaseChanged, o.BoundAt, o.ReleasedAt, o.ReleasedNotBefore, o.LastUse = at(phased), at(bound), at(released), at(releasedNotBefore), at(used)
	o.UnseenUse = at(unseen)
	return err
}

func (r *catalogReader) readClaim(rows driver.Rows) error {
	var o fact.ObjectSnapshot
	var deleted, deletedNotBefore, bound *time.Time
	err := rows.Scan(&o.UID, &deleted, &deletedNotBefore, &bound, &o.WorkloadKind, &o.WorkloadName, &o.VolumeUID)
	o.Kind, o.Deleted, o.NotBefore, o.BoundAt = fact.Claims, at(deleted), at(deletedNotBefore), at(bound)
	o.BoundLate = o.BoundAt != 0 // the row does not say whether it was bound earlier
	o.BoundBefore = o.BoundAt != 0
	*r.object(o.Kind, o.UID) = o
	return err
}

func (r *catalogReader) readPod(rows driver.Rows) error {
	var o fact.ObjectSnapshot
	err := rows.Scan(&o.UID, &o.WorkloadKind, &o.WorkloadName, &o.WorkloadUID)
	o.Kind = fact.Pods
	*r.object(o.Kind, o.UID) = o
	return err
}

func (r *catalogReader) readContainer(rows driver.Rows) error {
	var pod string
	var used fact.ContainerSnapshot
	var started, finished, notBefore *time.Time
	var reason *string
	var startUnknown *uint8
	err := rows.Scan(&pod, &used.Name, &started, &finished, &notBefore, &reason, &startUnknown)
	used.StartUnknown = startUnknown != nil && *startUnknown != 0
	used.StartedAt, used.FinishedAt, used.NotBefore = at(started), at(finished), at(notBefore)
	if reason != nil {
		used.Reason = *reason
	}
	o := r.object(fact.Pods, pod)
	o.Containers = append(o.Containers, used)
	return err
}

func (r *catalogReader) readAttachment(rows driver.Rows) error {
	var uid string
	var attached bool
	var since *time.Time
	err := rows.Scan(&uid, &attached, &since)
	o := r.object(fact.VolumeAttachments, uid)
	o.Attached, o.AttachedAt = attached, at(since)
	return err
}

func (r *catalogReader) readObject(rows driver.Rows) error {
	var kind, uid, text, version string
	var incomplete bool
	if err := rows.Scan(&kind, &uid, &incomplete, &text, &version); err != nil {
		return err
	}
	r.saved = append(r.saved, fact.SavedObject{
		Kind: fact.Kind(kind), UID: uid, Object: text, ResourceVersion: version, Snapshot: *r.object(fact.Kind(kind), uid), Incomplete: incomplete,
	})
	return nil
}

// questions asks one question after the other, until one fails. A failed one sets err.
type questions struct {
	catalog    *catalog.Catalog
	ctx        context.Context
	parameters map[string]string
	err        error
}

// newQuestions asks about a cluster. The parameter instance is that of the tracker that the questions are about.
func newQuestions(ctx context.Context, c *catalog.Catalog, cluster, instance string) *questions {
	return &questions{catalog: c, ctx: ctx, parameters: map[string]string{"cluster": cluster, "instance": instance}}
}

// each calls read with each row of an answer, unless an earlier question failed.
func (q *questions) each(sql string, read func(driver.Rows) error) {
	if q.err == nil {
		q.err = q.catalog.Each(q.ctx, "read what is in the catalog", sql, q.parameters, read)
	}
}

func at(t *time.Time) fact.Time {
	if t == nil {
		return 0
	}
	return fact.At(*t)
}
