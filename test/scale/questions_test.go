package scale

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// What issue 16 demands of a report: of one volume, claim, owner, group or namespace; of the present of the whole cluster,
// by those that on-call people ask first; and of all of the history.
const (
	ofOne    = time.Second
	present  = 2 * time.Second
	ofAll    = 10 * time.Second
	longAgo  = "--since=730d"
	halfAway = "--at=300d"
)

// questions are the reports that the program has, each for one object, and for all of the present and of the past.
func questions(t *testing.T, c *catalog.Catalog, program string) (list []question) {
	t.Helper()
	known, err := exec.Command(program, "report").Output()
	if err != nil {
		t.Fatal(err)
	}
	pod := catalogtest.Rows(t, c, "SELECT namespace, name, concat(workload_kind, '/', workload_name) FROM pods WHERE namespace = 'team-007' ORDER BY created_at DESC LIMIT 1")[0]
	claim := catalogtest.Rows(t, c, "SELECT namespace, name, volume_name, uid FROM claims WHERE namespace = 'team-007' AND uid IN (SELECT claim_uid FROM mounts WHERE namespace = 'team-007') ORDER BY uid LIMIT 1")[0]
	handle := catalogtest.Rows(t, c, fmt.Sprintf("SELECT volume_handle FROM volumes WHERE name = '%s'", claim[2]))[0][0]
	volume, claimed, workload := fmt.Sprint(claim[2]), fmt.Sprintf("%s/%s", claim[0], claim[1]), fmt.Sprint(pod[2])
	argument := map[string][]string{
		"volume": {volume, claimed}, "claim": {claimed}, "pod": {fmt.Sprintf("%s/%s", pod[0], pod[1])},
		"workload": {fmt.Sprintf("%s/%s", pod[0], workload)}, "name": {fmt.Sprint(handle)},
	}
	for _, r := range catalog.Reports() {
		if !slices.Contains(strings.Fields(string(known)), r.Name) {
			continue
		}
		add := func(demand time.Duration, flags ...string) {
			list = append(list, question{append([]string{r.Name}, flags...), demand})
		}
		has := func(flag string) bool {
			return slices.ContainsFunc(r.Flags, func(f catalog.Flag) bool { return f.Name == flag })
		}
		if i := slices.IndexFunc(r.Flags, func(f catalog.Flag) bool { return f.Argument }); i >= 0 {
			for _, named := range argument[r.Flags[i].Name] {
				add(ofOne, named)
				if has("since") {
					add(ofOne, named, longAgo)
				}
			}
			continue
		}
		whole := ofAll
		if slices.Contains([]string{"idle", "space", "orphans"}, r.Name) {
			whole = present
		}
		add(whole)
		for _, of := range []struct {
			demand time.Duration
			flags  []string
		}{
			{ofOne, []string{"namespace=team-007"}},
			{ofOne, []string{"owner=owner-7"}},
			{ofOne, []string{"group=group-1"}},
			{ofOne, []string{"volume=" + volume}},
			{ofOne, []string{"namespace=team-007", "workload=" + workload}},
			{ofAll, []string{"workload=" + workload}}, // each namespace has one of this name
		} {
			flags := selecting(has, of.flags)
			if flags == nil {
				continue
			}
			add(of.demand, flags...)
			if has("at") {
				add(of.demand, append(flags, halfAway)...)
			}
			if has("since") {
				add(of.demand, append(flags, longAgo)...)
			}
		}
		if has("at") {
			add(ofAll, halfAway)
		}
		if has("since") {
			add(ofAll, longAgo)
		}
	}
	return list
}

// selecting returns flags that select rows as arguments, or nil if a report does not have all of them.
func selecting(has func(flag string) bool, flags []string) (args []string) {
	for _, flag := range flags {
		if name, _, _ := strings.Cut(flag, "="); !has(name) {
			return nil
		}
		args = append(args, "--"+flag)
	}
	return args
}
