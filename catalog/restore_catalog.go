package catalog

import (
	"context"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The questions that tell what the catalog holds open. Each is about one cluster, and
// is read with FINAL.
//
// A batch of which a killed tracker wrote the first tables only, and whose rest was lost
// with the journal, may tell of a mount and not of its pod, or of a binding and not of its
// volume (see tables): those count as living, until a list lacks them. What the mounts
// of a living pod refer to is needed to say what it uses, or used, also if it is gone itself.
const (
	livingVolumes = `(
    SELECT uid FROM volumes WHERE cluster = {cluster:String} AND deleted_at IS NULL
    UNION ALL
    SELECT volume_uid FROM mounts WHERE cluster = {cluster:String} AND pod_uid IN ` + livingPods + `
    UNION ALL
    SELECT b.volume_uid FROM bindings AS b LEFT ANTI JOIN volumes AS v ON v.cluster = b.cluster AND v.uid = b.volume_uid
    WHERE b.cluster = {cluster:String} AND b.released_at IS NULL)`
	livingClaims = `(
    SELECT uid FROM claims WHERE cluster = {cluster:String} AND deleted_at IS NULL
    UNION ALL
    SELECT claim_uid FROM mounts WHERE cluster = {cluster:String} AND pod_uid IN ` + livingPods + `)`
	livingPods = `(
    SELECT uid FROM pods WHERE cluster = {cluster:String} AND deleted_at IS NULL
    UNION ALL
    SELECT m.pod_uid FROM mounts AS m LEFT ANTI JOIN (
        SELECT uid FROM pods
        WHERE cluster = {cluster:String} AND uid IN (SELECT pod_uid FROM mounts WHERE cluster = {cluster:String} AND ended_at IS NULL)) AS p ON p.uid = m.pod_uid
    WHERE m.cluster = {cluster:String} AND m.ended_at IS NULL)`

	// The last version of each living object whose rows are all written: those up to the checkpoint of
	// its kind. If an object has no such version, its last one, marked as incomplete. A version without
	// a number is never complete. Controllers are left out: the pods and claims they made name them.
	heldObjects = `
SELECT kind, uid, countIf(told) = 0 AS untold,
    if(untold, argMax(object, tuple(number, observed_at)), argMaxIf(object, tuple(number, observed_at), told)),
    if(untold, argMax(resource_version, tuple(number, observed_at)), argMaxIf(resource_version, tuple(number, observed_at), told))
FROM
(
    SELECT o.cluster AS cluster, o.kind AS kind, o.uid AS uid, o.object AS object, o.resource_version AS resource_version, o.observed_at AS observed_at,
        toUInt64OrZero(o.resource_version) AS number, number BETWEEN 1 AND c.reached AS told
    FROM objects AS o
    LEFT JOIN
    (
        SELECT kind, max(toUInt64OrZero(resource_version)) AS reached FROM checkpoints WHERE cluster = {cluster:String} GROUP BY kind
    ) AS c ON c.kind = o.kind
)
WHERE cluster = {cluster:String} AND (
    (kind = 'PersistentVolume' AND uid IN ` + livingVolumes + `)
    OR (kind = 'PersistentVolumeClaim' AND uid IN ` + livingClaims + `)
    OR (kind = 'Pod' AND uid IN ` + livingPods + `)
    OR (kind = 'Namespace' AND uid IN (SELECT uid FROM namespaces WHERE cluster = {cluster:String} AND deleted_at IS NULL))
    OR (kind = 'StorageClass' AND uid IN (SELECT uid FROM storage_classes WHERE cluster = {cluster:String} AND deleted_at IS NULL))
    OR (kind = 'VolumeAttachment' AND uid IN (SELECT uid FROM attachments WHERE cluster = {cluster:String} AND detached_at IS NULL))
    OR (kind IN ('Node', 'CSIDriver') AND uid NOT IN (
        SELECT uid FROM changes WHERE cluster = {cluster:String} AND kind IN ('Node', 'CSIDriver') AND action = 'deleted')))
GROUP BY kind, uid`

	heldVolumes = `
SELECT v.uid, v.deleted_at, v.deleted_not_before, v.phase_changed_at, b.claim, b.ordinal, b.bound, b.released, b.released_not_before, m.last_used, v.unseen_use_at,
    s.capacity_bytes, s.used_bytes, s.available_bytes, s.inodes, s.inodes_used, c.owner, c.labels
FROM volumes AS v
LEFT JOIN (
    SELECT uid, owner, labels FROM claims WHERE cluster = {cluster:String}) AS c ON c.uid = v.claim_uid
LEFT JOIN (
    SELECT volume_uid, argMax(claim_uid, version) AS claim, argMax(ordinal, version) AS ordinal, argMax(tuple(bound_at), version).1 AS bound,
        argMax(tuple(released_at), version).1 AS released, argMax(tuple(released_not_before), version).1 AS released_not_before
    FROM bindings WHERE cluster = {cluster:String} GROUP BY volume_uid) AS b ON b.volume_uid = v.uid
LEFT JOIN (
    SELECT volume_uid, max(ended_at) AS last_used FROM mounts WHERE cluster = {cluster:String} GROUP BY volume_uid) AS m ON m.volume_uid = v.uid
LEFT JOIN (
    SELECT * FROM usage WHERE cluster = {cluster:String} ORDER BY volume_uid, at DESC LIMIT 1 BY volume_uid) AS s ON s.volume_uid = v.uid
WHERE v.cluster = {cluster:String} AND v.uid IN ` + livingVolumes + `
SETTINGS join_use_nulls = 1`

	heldClaims = `
SELECT uid, deleted_at, deleted_not_before, bound_at, workload_kind, workload_name, volume_uid
FROM claims
WHERE cluster = {cluster:String} AND uid IN ` + livingClaims

	heldPods = `
SELECT uid, workload_kind, workload_name, workload_uid
FROM pods WHERE cluster = {cluster:String} AND uid IN ` + livingPods

	heldContainers = `
SELECT c.pod_uid, c.name, c.started_at, c.finished_at, m.not_before, m.reason, m.start_unknown
FROM containers AS c
LEFT JOIN (
    SELECT pod_uid, container, max(ended_not_before) AS not_before, any(end_reason) AS reason,
        max(started_not_before < started_at) AS start_unknown
    FROM mounts WHERE cluster = {cluster:String} GROUP BY pod_uid, container) AS m ON m.pod_uid = c.pod_uid AND m.container = c.name
WHERE c.cluster = {cluster:String} AND c.started_at IS NOT NULL AND c.pod_uid IN ` + livingPods + `
SETTINGS join_use_nulls = 1`

	heldAttachments = `
SELECT uid, attached_at FROM attachments WHERE cluster = {cluster:String} AND detached_at IS NULL`

	heldCoverage = `
SELECT kind, max(seen_at) FROM coverage WHERE cluster = {cluster:String} AND instance != {instance:String} GROUP BY kind`
)

// heldVersion asks for the highest row version of a cluster.
var heldVersion = func() string {
	var of []string
	for _, t := range allTables {
		if t.versions != nil {
			of = append(of, "SELECT max(version) AS version FROM "+t.name+" WHERE cluster = {cluster:String}")
		}
	}
	return "SELECT max(version) FROM (" + strings.Join(of, " UNION ALL ") + ")"
}()

// Restore reads the snapshot of a cluster that the catalog holds: the objects that it takes for living,
// with what it knows of their use; the last moment at which each kind was watched by another instance
// than the given one; and when pods were watched by any instance. It returns nil if the catalog knows
// nothing of the cluster. Errors are *Error, or say which object cannot be read.
func (c *Catalog) Restore(ctx context.Context, cluster, instance string) (*fact.Snapshot, error) {
	h := c.asking(ctx, cluster, instance)
	r := &fact.Snapshot{Positions: map[fact.Kind]fact.Position{}}
	memories := map[[2]string]*fact.ObjectSnapshot{}
	memory := func(kind fact.Kind, uid string) *fact.ObjectSnapshot {
		key := [2]string{string(kind), uid}
		if memories[key] == nil {
			memories[key] = &fact.ObjectSnapshot{Kind: kind, UID: uid}
		}
		return memories[key]
	}
	h.each(heldVersion, func(rows driver.Rows) error { return rows.Scan(&r.Version) })
	h.each(heldCoverage, func(rows driver.Rows) error {
		var kind string
		var seen time.Time
		err := rows.Scan(&kind, &seen)
		r.Positions[fact.Kind(kind)] = fact.Position{Kind: fact.Kind(kind), At: fact.At(seen)}
		return err
	})
	r.Watched = h.watched()
	h.each(heldVolumes, func(rows driver.Rows) error {
		var uid string
		var claim *string
		var ordinal *uint16
		var deleted, deletedNotBefore, phased, bound, released, releasedNotBefore, used, unseen *time.Time
		var capacity, usedBytes, available, inodes, inodesUsed *int64
		var owner *string
		var labels map[string]string
		err := rows.Scan(&uid, &deleted, &deletedNotBefore, &phased, &claim, &ordinal, &bound, &released, &releasedNotBefore, &used, &unseen,
			&capacity, &usedBytes, &available, &inodes, &inodesUsed, &owner, &labels)
		m := memory(fact.Volumes, uid)
		if claim != nil && ordinal != nil {
			m.ClaimUID, m.BindingOrdinal = *claim, *ordinal
		}
		if usedBytes != nil {
			m.Space = &fact.Space{CapacityBytes: *capacity, UsedBytes: *usedBytes, AvailableBytes: *available, Inodes: *inodes, InodesUsed: *inodesUsed}
		}
		if owner != nil {
			m.Claimant = &fact.Claimant{Owner: *owner, Labels: labels}
		}
		m.Deleted, m.NotBefore = at(deleted), at(deletedNotBefore)
		m.PhaseChanged, m.BoundAt, m.ReleasedAt, m.ReleasedNotBefore, m.LastUse = at(phased), at(bound), at(released), at(releasedNotBefore), at(used)
		m.UnseenUse = at(unseen)
		return err
	})
	h.each(heldClaims, func(rows driver.Rows) error {
		var m fact.ObjectSnapshot
		var deleted, deletedNotBefore, bound *time.Time
		err := rows.Scan(&m.UID, &deleted, &deletedNotBefore, &bound, &m.WorkloadKind, &m.WorkloadName, &m.VolumeUID)
		m.Kind, m.Deleted, m.NotBefore, m.BoundAt = fact.Claims, at(deleted), at(deletedNotBefore), at(bound)
		m.BoundLate = m.BoundAt != 0 // as far as the row says
		*memory(m.Kind, m.UID) = m
		return err
	})
	h.each(heldPods, func(rows driver.Rows) error {
		var m fact.ObjectSnapshot
		err := rows.Scan(&m.UID, &m.WorkloadKind, &m.WorkloadName, &m.WorkloadUID)
		m.Kind = fact.Pods
		*memory(m.Kind, m.UID) = m
		return err
	})
	h.each(heldContainers, func(rows driver.Rows) error {
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
		m := memory(fact.Pods, pod)
		m.Containers = append(m.Containers, used)
		return err
	})
	h.each(heldAttachments, func(rows driver.Rows) error {
		var uid string
		var attached *time.Time
		err := rows.Scan(&uid, &attached)
		memory(fact.VolumeAttachments, uid).AttachedAt = at(attached)
		return err
	})
	h.each(heldObjects, func(rows driver.Rows) error {
		var kind, uid, text, version string
		var untold bool
		if err := rows.Scan(&kind, &uid, &untold, &text, &version); err != nil {
			return err
		}
		r.Objects = append(r.Objects, fact.SavedObject{
			Kind: fact.Kind(kind), UID: uid, Object: text, ResourceVersion: version, Snapshot: *memory(fact.Kind(kind), uid), Incomplete: untold,
		})
		return nil
	})
	if h.err != nil || (len(r.Objects) == 0 && len(r.Positions) == 0) {
		return nil, h.err
	}
	return r, nil
}

// held asks one question after the other, until one fails.
type held struct {
	catalog           *Catalog
	cluster, instance string
	ctx               context.Context
	more              []any // named values beside those
	err               error
}

// asking asks about a cluster, with FINAL, for the tracker that instance is; empty if it is none.
func (c *Catalog) asking(ctx context.Context, cluster, instance string) held {
	return held{catalog: c, cluster: cluster, instance: instance, ctx: clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"final": 1}))}
}

func (h *held) each(question string, read func(driver.Rows) error) {
	if h.err != nil {
		return
	}
	values := append([]any{clickhouse.Named("cluster", h.cluster), clickhouse.Named("instance", h.instance)}, h.more...)
	rows, err := h.catalog.conn.Query(h.ctx, question, values...)
	if err == nil {
		for rows.Next() && err == nil {
			err = read(rows)
		}
		if err == nil {
			err = rows.Err()
		}
		_ = rows.Close() // all that it had to say has been read
	}
	h.err = h.catalog.explain("read back what is held open", err)
}

func at(t *time.Time) fact.Time {
	if t == nil {
		return 0
	}
	return fact.At(*t)
}
