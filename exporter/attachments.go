package exporter

import (
	"cmp"
	"iter"
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const (
	attachmentName = prefix + "_attachment_pending_seconds"
	attachmentHelp = "For how long a volume has waited to be attached to a node, or to be detached from it, by the operation that its VolumeAttachment waits for. Absent for attachments that wait for nothing, and with --no-collector.attachments."
)

// attachmentSeries turns copied attachments into a family. Of two objects for the same volume, node and operation (one is
// deleted, its successor waits) the one that has waited longer counts.
func attachmentSeries(states []fact.AttachmentState, now fact.Time) family {
	slices.SortFunc(states, func(a, b fact.AttachmentState) int {
		return cmp.Or(cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Attacher, b.Attacher),
			cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Since, b.Since))
	})
	states = slices.CompactFunc(states, func(a, b fact.AttachmentState) bool {
		return a.Volume == b.Volume && a.Node == b.Node && a.Attacher == b.Attacher && a.Operation == b.Operation
	})
	return family{name: attachmentName, help: attachmentHelp, lines: attachmentLines(states, now)}
}

func attachmentLines(states []fact.AttachmentState, now fact.Time) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		for i := range states {
			a := &states[i]
			b = appendLabel(append(b[:0], '{'), "persistentvolume", a.Volume)
			b = appendLabel(append(b, ','), "node", a.Node)
			b = appendLabel(append(b, ','), "attacher", a.Attacher)
			b = appendLabel(append(b, ','), "operation", a.Operation)
			if !yield(appendValue(b, secondsSince(a.Since, now))) {
				return
			}
		}
	}
}
