package exporter

import (
	"iter"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// row is the series of one volume as text. It never changes once made: a change of the volume
// replaces the row, so that a scrape may read its copied rows while the next updates arrive.
//
// text contains the volume's own label, the labels it is routed by, and then the part of each
// family; ends has the end of each part. The labels are in it once although fourteen families share
// them: about 320 bytes a volume, for 1,300 on the wire.
type row struct {
	text   string
	ends   [2 + volumeFamilyCount]uint16
	since  fact.Time // IdleSince, and
	unused fact.Time // UnusedSince, for what the scrape computes
}

// renderer makes rows, with a buffer that it uses again and again.
type renderer struct {
	namespaces, storageClasses   Filter
	claimLabels, namespaceLabels []carriedLabel

	buf []byte
}

// rows renders each volume; deleted ones, and those without series, get nil.
func (t *renderer) rows(vs []fact.VolumeState) []*row {
	rows := make([]*row, len(vs))
	for i := range vs {
		if v := &vs[i]; !v.Gone && t.namespaces.passes(v.Namespace) && t.storageClasses.passes(v.StorageClass) {
			rows[i] = t.row(v)
		}
	}
	return rows
}

func (t *renderer) row(v *fact.VolumeState) *row {
	r := &row{since: v.IdleSince, unused: v.UnusedSince}
	b := append(t.buf[:0], '{')
	b = appendLabel(b, "persistentvolume", v.Name)
	r.ends[0] = uint16(len(b))
	b = appendLabel(append(b, ','), "namespace", v.Namespace)
	b = appendLabel(append(b, ','), "persistentvolumeclaim", v.Claim)
	b = appendLabel(append(b, ','), "storageclass", v.StorageClass)
	r.ends[1] = uint16(len(b))
	for i := range volumeFamilies {
		if rest := volumeFamilies[i].rest; rest != nil {
			b = rest(t, b, v)
		}
		r.ends[2+i] = uint16(len(b))
	}
	t.buf = b
	r.text = string(b)
	return r
}

// appendLine appends the volume's sample of family i, or nothing.
func (r *row) appendLine(b []byte, i int, at *instant) []byte {
	f := &volumeFamilies[i]
	rest := r.text[r.ends[1+i]:r.ends[2+i]]
	if rest == "" && f.seconds == nil {
		return b
	}
	labels := r.text[:r.ends[0]]
	if f.routed {
		labels = r.text[:r.ends[1]]
	}
	b = append(b, labels...)
	if f.seconds != nil {
		return appendValue(b, f.seconds(at, r))
	}
	return append(b, rest...)
}

// secondsSince returns whole seconds: the API's times are no finer, and the lines stay short. It
// returns 0 for a volume in use, and if the API server's clock is ahead of the tracker's.
func secondsSince(since, now fact.Time) int64 {
	if since.IsZero() || since > now {
		return 0
	}
	return int64(now-since) / 1e6
}

// volumes are the present volumes. The rows are dense, so that a scrape copies them with one
// memmove; places has the index of a volume's row. The Exporter's lock guards them.
type volumes struct {
	places map[string]place // by UID
	rows   []*row           // of those that have series of their own
	uids   []string         // parallel to rows
	max    int              // how many rows are exposed; 0 for all
}

// place is the data of a volume without its row.
type place struct {
	share share
	row   int32 // in rows; noRow if it has none
}

const noRow = -1

func newVolumes(limit int) volumes { return volumes{places: map[string]place{}, max: limit} }

// apply replaces a volume's contribution to its namespace and its row. The row is nil for a volume
// without series.
func (vs *volumes) apply(uid string, s share, r *row) {
	p, known := vs.places[uid]
	if !known {
		p.row = noRow
	}
	p.share = s
	switch {
	case r == nil:
		vs.removeRow(p.row)
		p.row = noRow
	case p.row == noRow:
		p.row = int32(len(vs.rows))
		vs.rows, vs.uids = append(vs.rows, r), append(vs.uids, uid)
	default:
		vs.rows[p.row] = r
	}
	vs.places[uid] = p
}

// remove takes a volume out.
func (vs *volumes) remove(uid string) {
	if p, known := vs.places[uid]; known {
		vs.removeRow(p.row)
		delete(vs.places, uid)
	}
}

// removeRow moves the last row to index i. If there are more rows than the limit, and i is below it, that
// row's volume is exposed from now on.
func (vs *volumes) removeRow(i int32) {
	if i == noRow {
		return
	}
	last := len(vs.rows) - 1
	if int(i) != last {
		vs.rows[i], vs.uids[i] = vs.rows[last], vs.uids[last]
		moved := vs.places[vs.uids[i]]
		moved.row = i
		vs.places[vs.uids[i]] = moved
	}
	vs.rows[last], vs.uids[last] = nil, ""
	vs.rows, vs.uids = vs.rows[:last], vs.uids[:last]
}

// shown returns the rows within the limit: the first ones observed, and others in the places of those that were
// removed. over is the number of the rest.
func (vs *volumes) shown() (rows []*row, over int) {
	if vs.max > 0 && len(vs.rows) > vs.max {
		return vs.rows[:vs.max], len(vs.rows) - vs.max
	}
	return vs.rows, 0
}

// volumeSeries turns copied rows into families, as of an instant.
func volumeSeries(rows []*row, at *instant) []family {
	out := make([]family, len(volumeFamilies))
	for i, f := range volumeFamilies {
		out[i] = family{name: f.name, help: f.help, lines: volumeLines(rows, i, at)}
	}
	return out
}

func volumeLines(rows []*row, i int, at *instant) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var line []byte
		for _, r := range rows {
			line = r.appendLine(line[:0], i, at)
			if len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}
