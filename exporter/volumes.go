package exporter

import (
	"iter"
	"strconv"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// row is the series of one volume as text. It never changes once made: a change
// of the volume puts another in its place, so that a scrape may read the rows it
// has copied while the next updates come in.
//
// text is the volume's own label, the labels it is routed by, and then what each
// family adds; ends has the end of each. Labels are in it once although seven
// families share them: some 320 bytes a volume, for 1,100 on the wire.
type row struct {
	text  string
	ends  [2 + volumeFamilyCount]uint16
	since inventory.Time // IdleSince, for what the scrape computes
}

// renderer makes rows, with a buffer that it uses again and again.
type renderer struct{ buf []byte }

// rows renders each volume; those that are gone get nil.
func (t *renderer) rows(vs []inventory.VolumeState) []*row {
	rows := make([]*row, len(vs))
	for i := range vs {
		if !vs[i].Gone {
			rows[i] = t.row(&vs[i])
		}
	}
	return rows
}

func (t *renderer) row(v *inventory.VolumeState) *row {
	r := &row{since: v.IdleSince}
	b := append(t.buf[:0], '{')
	b = appendLabel(b, "persistentvolume", v.Name)
	r.ends[0] = uint16(len(b))
	b = appendLabel(append(b, ','), "namespace", v.Namespace)
	b = appendLabel(append(b, ','), "persistentvolumeclaim", v.Claim)
	b = appendLabel(append(b, ','), "storageclass", v.StorageClass)
	r.ends[1] = uint16(len(b))
	for i := range volumeFamilies {
		b = volumeFamilies[i].rest(b, v)
		r.ends[2+i] = uint16(len(b))
	}
	t.buf = b
	r.text = string(b)
	return r
}

// appendLine appends the volume's sample of family i, or nothing.
func (r *row) appendLine(b []byte, i int, now inventory.Time) []byte {
	f := &volumeFamilies[i]
	rest := r.text[r.ends[1+i]:r.ends[2+i]]
	if rest == "" {
		return b
	}
	labels := r.text[:r.ends[0]]
	if f.routed {
		labels = r.text[:r.ends[1]]
	}
	b = append(b, labels...)
	b = append(b, rest...)
	if f.sinceIdle {
		b = strconv.AppendInt(b, idleSeconds(r.since, now), 10)
		b = append(b, '\n')
	}
	return b
}

// idleSeconds is whole seconds: the API's times have no more, and they make
// short lines. It is 0 for a volume in use, and where the API server's clock is
// ahead of ours.
func idleSeconds(since, now inventory.Time) int64 {
	if since.IsZero() || since > now {
		return 0
	}
	return int64(now-since) / 1e6
}

// volumes holds the present volumes. The rows are dense, so that a scrape copies
// them with one memmove; index leads to a volume's place. Under the Exporter's
// lock.
type volumes struct {
	index  map[string]int32 // by UID
	uids   []string         // the three are parallel
	shares []share
	rows   []*row // nil elements while families per volume are off
}

func newVolumes() volumes { return volumes{index: map[string]int32{}} }

// apply puts the volume's new row in place, or takes the volume out if it is
// gone. It returns what the volume counted for in its namespace until now, nil
// for a new one.
func (vs *volumes) apply(v *inventory.VolumeState, r *row) *share {
	i, known := vs.index[v.UID]
	switch {
	case known && v.Gone:
		old := vs.shares[i]
		vs.remove(i)
		return &old
	case known:
		vs.rows[i] = r
		return &vs.shares[i]
	case !v.Gone:
		vs.index[v.UID] = int32(len(vs.rows))
		vs.uids = append(vs.uids, v.UID)
		vs.shares = append(vs.shares, share{})
		vs.rows = append(vs.rows, r)
	}
	return nil
}

// remove moves the last volume into the place of the one at i.
func (vs *volumes) remove(i int32) {
	last := len(vs.rows) - 1
	delete(vs.index, vs.uids[i])
	if int(i) != last {
		vs.uids[i], vs.shares[i], vs.rows[i] = vs.uids[last], vs.shares[last], vs.rows[last]
		vs.index[vs.uids[i]] = i
	}
	vs.uids[last], vs.shares[last], vs.rows[last] = "", share{}, nil
	vs.uids, vs.shares, vs.rows = vs.uids[:last], vs.shares[:last], vs.rows[:last]
}

// setShare remembers what the volume counts for in its namespace.
func (vs *volumes) setShare(uid string, s share) { vs.shares[vs.index[uid]] = s }

// volumeSeries turns copied rows into families, as of now.
func volumeSeries(rows []*row, now inventory.Time) []family {
	out := make([]family, len(volumeFamilies))
	for i, f := range volumeFamilies {
		out[i] = family{name: f.name, help: f.help, lines: volumeLines(rows, i, now)}
	}
	return out
}

func volumeLines(rows []*row, i int, now inventory.Time) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var line []byte
		for _, r := range rows {
			line = r.appendLine(line[:0], i, now)
			if len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}
