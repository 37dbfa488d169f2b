package redact

import (
	"maps"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Rows masks, in place, rows that wait in a journal: an older tracker may have put them there. It
// changes nothing in rows that follow from redacted objects. Objects, which are protobuf there, pass
// through Object.
func (p Policy) Rows(rows *fact.Facts) {
	for i := range rows.Namespaces {
		r := &rows.Namespaces[i]
		r.Owner, r.Labels = Text(r.Owner), masked(r.Labels)
	}
	for i := range rows.StorageClasses {
		parameters(rows.StorageClasses[i].Parameters)
	}
	for i := range rows.VolumeSources {
		r := &rows.VolumeSources[i]
		r.Server, r.Path = Text(r.Server), Text(r.Path)
		maps.DeleteFunc(r.Attributes, func(name, _ string) bool { return name == "keyring" || name == "secretFile" })
		parameters(r.Attributes)
	}
	for i := range rows.Volumes {
		r := &rows.Volumes[i]
		r.VolumeHandle, r.Labels, r.Annotations = Text(r.VolumeHandle), masked(r.Labels), p.keptAnnotations(r.Annotations)
	}
	for i := range rows.Claims {
		r := &rows.Claims[i]
		r.Owner, r.Labels, r.Annotations = Text(r.Owner), masked(r.Labels), p.keptAnnotations(r.Annotations)
	}
	for i := range rows.Pods {
		r := &rows.Pods[i]
		r.Owner, r.Labels = Text(r.Owner), masked(r.Labels)
	}
	for i := range rows.Containers {
		r := &rows.Containers[i]
		r.Image, r.Command = Text(r.Image), Program(r.Command)
	}
	for i := range rows.Attachments {
		rows.Attachments[i].Error = Text(rows.Attachments[i].Error)
	}
}
