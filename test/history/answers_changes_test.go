package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// stay is the time in which a workload was on a volume, its pods never away for long.
type stay struct {
	uses []mount
	came fact.Time
	went end
}

// stays joins the uses of one workload and one volume.
func stays(uses []mount, absence fact.Time) (list []*stay) {
	slices.SortFunc(uses, func(a, b mount) int { return cmp.Compare(a.started(), b.started()) })
	for _, u := range uses {
		e := u.ended()
		if e.at == 0 {
			e.at = endOfTime()
		}
		n := len(list)
		if n == 0 || u.started() >= list[n-1].went.at+max(absence, 1) {
			list = append(list, &stay{[]mount{u}, u.started(), e})
			continue
		}
		was := list[n-1]
		was.uses = append(was.uses, u)
		was.went.at, was.went.notBefore = max(was.went.at, e.at), max(was.went.notBefore, e.notBefore)
	}
	return list
}

func appChanges(h *history, flags map[string]string) (rows []row) {
	name := h.volumeName()
	flags["volume"] = name
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	absence := 600 * second
	if h.rnd.IntN(2) == 0 {
		hours := h.rnd.Int64N(200)
		flags["min-absence"], absence = fmt.Sprint(hours, "h"), fact.Time(hours)*3600*second
	}
	w := h.window(flags, always, false)
	uses := h.uses(window{0, endOfTime()}, filters{}, name)
	for _, g := range grouped(uses, func(u mount) string { return u.m.cluster + " " + volumeUID(u) }) {
		var all []*stay
		for _, of := range grouped(g, func(u mount) string { return fmt.Sprintf("%q", []string{u.pod.namespace, u.pod.workloadName()}) }) {
			all = append(all, stays(of, absence)...)
		}
		add := func(s *stay, change string, at, notBefore fact.Time) {
			if at < w.since || at > w.until || !slices.ContainsFunc(s.uses, f.takesUse) {
				return
			}
			apps := []string{}
			for _, o := range all {
				if o.came <= at && o.went.at > at {
					apps = append(apps, o.uses[0].pod.workloadName())
				}
			}
			slices.Sort(apps)
			u := s.uses[0]
			rows = append(rows, row{
				"cluster": u.m.cluster, "persistentvolume": u.volume().name, "at": at, "at_not_before": notBefore, "change": change,
				"namespace": u.pod.namespace, "workload": u.pod.workloadName(), "apps": slices.Compact(apps),
			})
		}
		for _, s := range all {
			add(s, "came", s.came, 0)
			if s.went.at != endOfTime() {
				add(s, "went", s.went.at, s.went.unsure())
			}
		}
	}
	return rows
}
