// Package statemetrics serves kube-state-metrics' families of volumes, claims, storage classes and
// volume attachments (kube_persistentvolume_info and so on), made by kube-state-metrics' own library.
//
// It owns the texts of these families. The collector calls [Generators.Render] for each object as the
// object arrives, before it removes the fields that the tracker does not keep, and passes the text on
// in a [fact.Update]. The exporter applies the update to a [Texts], together with the volumes' own
// state, and writes the texts at a scrape. Nothing of an object is kept but its text.
//
// It promises:
//
//   - The series and values are those of kube-state-metrics: the library's generators make the labels
//     and values, and the library's Metric.Write writes each line.
//   - The families appear once the objects of all chosen kinds are known, and not before: a part of
//     them would look like deleted objects.
//   - A [Moment] is a copy at one point between two updates.
//
// The library has a store for such texts, metrics_store.MetricsStore, which is not used. It keeps
// them in a sync.Map that a scrape reads while objects change, and its Replace empties the map before
// it fills it again, so a scrape could show a part of a list. It also keeps each line whole, 1.3 KB a
// volume. Here the lines of a volume are 150 bytes of its own values, and a shape that they share with the lines of
// other volumes (text.go, shapes.go).
package statemetrics
