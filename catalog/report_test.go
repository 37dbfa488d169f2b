package catalog_test

import (
	"errors"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const gib = 1 << 30

func day(month time.Month, day int) fact.Time {
	return fact.At(time.Date(2026, month, day, 12, 0, 0, 0, time.UTC))
}

// volumeOf is a PersistentVolume of so many GiB.
func volumeOf(uid, class, source, claim, phase string, size int64) fact.Volume {
	return fact.Volume{Version: 1, UID: uid, Name: "pv-" + uid, StorageClass: class, SourceID: source, SourceKind: strings.Split(source, ":")[0],
		CapacityBytes: size * gib, ReclaimPolicy: "Delete", Phase: phase, ClaimUID: claim, ClaimNamespace: namespaceIf(claim), ClaimName: strings.TrimPrefix(claim, "claim-"), CreatedAt: day(1, 1)}
}

func namespaceIf(claim string) string {
	if claim == "" {
		return ""
	}
	return "shop"
}

// claimOf is a bound claim of so many GiB.
func claimOf(name, class, volume string, size int64) fact.Claim {
	return fact.Claim{Version: 1, UID: "claim-" + name, Namespace: "shop", Name: name, StorageClass: class, VolumeUID: volume, VolumeName: "pv-" + volume,
		RequestedBytes: size * gib, CapacityBytes: size * gib, Phase: "Bound", CreatedAt: day(1, 1), BoundAt: day(1, 2)}
}

// podOf is a pod that runs.
func podOf(namespace, name, kind, workload string) fact.Pod {
	return fact.Pod{Version: 1, UID: "pod-" + name, Namespace: namespace, Name: name, WorkloadKind: kind, WorkloadName: workload, Phase: "Running", CreatedAt: day(1, 1), StartedAt: day(1, 3)}
}

// mountOf is a mount that has not ended. It has no claim if claim is empty.
func mountOf(pod, volume, claim, source, pv string, start fact.Time) fact.Mount {
	m := fact.Mount{Version: 1, Namespace: "shop", PodCreatedAt: day(1, 1), PodUID: "pod-" + pod, Container: "main", Volume: volume, MountPath: "/" + volume,
		SourceID: source, SourceKind: strings.Split(source, ":")[0], VolumeUID: pv, StartedAt: start}
	if claim != "" {
		m.ClaimUID, m.ClaimName = "claim-"+claim, claim
	}
	return m
}

// endedMount is a mount with an end.
func endedMount(m fact.Mount, notBefore, at fact.Time, reason string) fact.Mount {
	m.EndedNotBefore, m.EndedAt, m.EndReason = notBefore, at, reason
	return m
}

// company is a small cluster with one of each case that a report has to get right.
func company() *fact.Facts {
	f := &fact.Facts{
		VolumeSources: []fact.VolumeSource{
			{ID: "nfs:1", Kind: "nfs", Server: "nfs.example.com", Path: "/export/shared"},
			{ID: "csi:1", Kind: "csi", Driver: "ebs.csi.aws.com", Path: "vol-1"},
			{ID: "hostPath:1", Kind: "hostPath", Path: "/var/log"},
			{ID: "emptyDir:1", Kind: "emptyDir"},
		},
		Volumes:  companyVolumes(),
		Claims:   companyClaims(),
		Bindings: []fact.Binding{{Version: 1, ClaimUID: "claim-never", VolumeUID: "never", BoundAt: day(2, 1)}},
		Pods: []fact.Pod{
			podOf("shop", "mysql-0", "StatefulSet", "mysql"),
			podOf("shop", "web-1", "Deployment", "web"),
			podOf("shop", "web-2", "Deployment", "web"),
			podOf("shop", "report-1", "CronJob", "report"),
			podOf("shop", "by-hand", "", ""),
		},
		Containers: []fact.Container{
			{Version: 1, Namespace: "shop", PodCreatedAt: day(1, 1), PodUID: "pod-mysql-0", Name: "main", Kind: fact.MainContainer},
			{Version: 1, Namespace: "shop", PodCreatedAt: day(1, 1), PodUID: "pod-web-1", Name: "main", Kind: fact.MainContainer},
		},
		Mounts:   companyMounts(),
		Usage:    companyUsage(),
		Coverage: companyCoverage(),
	}
	f.Mounts[2].ReadOnly = true
	f.Claims[2].UnusedSince = day(1, 15) // before it had the volume
	f.Claims[4].UnusedSince = day(2, 7)  // used in the gap, by nobody knows whom
	f.Claims[6].DeletedAt, f.Claims[6].DeletedNotBefore = day(2, 2), day(2, 2)
	f.Volumes[8].DeletedAt, f.Volumes[8].DeletedNotBefore = day(2, 2), day(2, 2)
	for i := range f.VolumeSources {
		f.VolumeSources[i].Version = 1
	}
	return f
}

func companyVolumes() []fact.Volume {
	return []fact.Volume{
		volumeOf("data", "fast", "csi:1", "claim-data-mysql-0", "Bound", 10),
		volumeOf("shared", "", "nfs:1", "claim-shared", "Bound", 100),
		volumeOf("never", "fast", "csi:1", "claim-never", "Bound", 5),
		volumeOf("old", "fast", "csi:1", "claim-old", "Bound", 20),
		volumeOf("told", "slow", "csi:1", "claim-told", "Bound", 7),
		volumeOf("late", "slow", "csi:1", "claim-late", "Bound", 3),
		volumeOf("released", "slow", "csi:1", "claim-released", "Released", 50),
		volumeOf("free", "", "nfs:1", "", "Available", 1000),
		volumeOf("gone", "slow", "csi:1", "claim-gone", "Released", 1000),
	}
}

func companyClaims() []fact.Claim {
	return []fact.Claim{
		claimOf("data-mysql-0", "fast", "data", 10),
		claimOf("shared", "", "shared", 100),
		claimOf("never", "fast", "never", 5),
		claimOf("old", "fast", "old", 20),
		claimOf("told", "slow", "told", 7),
		claimOf("late", "slow", "late", 3),
		claimOf("released", "slow", "released", 40),
		{Version: 1, UID: "claim-pending", Namespace: "lab", Name: "pending", StorageClass: "slow", RequestedBytes: 2 * gib, Phase: "Pending", CreatedAt: day(2, 1)},
	}
}

func companyMounts() []fact.Mount {
	return []fact.Mount{
		mountOf("mysql-0", "data", "data-mysql-0", "csi:1", "data", day(1, 3)),
		mountOf("mysql-0", "logs", "", "hostPath:1", "", day(1, 3)),
		mountOf("web-1", "shared", "shared", "nfs:1", "shared", day(2, 20)),
		endedMount(mountOf("web-2", "shared", "shared", "nfs:1", "shared", day(1, 20)), day(2, 20), day(2, 20), "Completed"),
		endedMount(mountOf("web-2", "cache", "", "emptyDir:1", "", day(1, 20)), day(2, 20), day(2, 20), "Completed"),
		endedMount(mountOf("report-1", "old", "old", "csi:1", "old", day(1, 3)), day(1, 5), day(1, 6), "Completed"),
		endedMount(mountOf("by-hand", "old", "old", "csi:1", "old", day(1, 4)), day(1, 18), day(1, 19), "Deleted"),
		endedMount(mountOf("by-hand", "released", "released", "csi:1", "released", day(1, 4)), day(2, 1), day(2, 1), "Deleted"),
		mountOf("web-1", "late", "late", "", "", day(2, 20)), // written before its volume was known
	}
}

func companyUsage() []fact.Usage {
	used := func(volume string, at fact.Time, bytes int64) fact.Usage {
		return fact.Usage{At: at, Namespace: "shop", VolumeUID: volume, Space: fact.Space{UsedBytes: bytes}}
	}
	return []fact.Usage{used("old", day(1, 5), 1*gib), used("old", day(1, 18), 2*gib), used("data", day(1, 5), 4*gib), used("gone", day(1, 5), gib)}
}

// companyCoverage is the coverage of a tracker that has watched since January 10th, with a gap, and of a second tracker.
func companyCoverage() []fact.Coverage {
	watched := func(instance string, kind fact.Kind, from, to fact.Time) fact.Coverage {
		return fact.Coverage{Version: uint64(to), Instance: instance, Kind: kind, StartedAt: from, SeenAt: to}
	}
	return []fact.Coverage{
		watched("a", fact.Pods, day(1, 10), day(1, 31)), watched("a", fact.Pods, day(2, 10), fact.At(catalogtest.Clock())-90e6),
		watched("b", fact.Pods, day(1, 20), day(2, 5)), watched("a", fact.Claims, day(1, 1), day(3, 1)),
	}
}

// branch is another cluster, with objects of the same names and UIDs: static
// volumes restored from a backup look like that.
func branch() *fact.Facts {
	f := company()
	f.Volumes, f.Claims, f.Pods = f.Volumes[:1], f.Claims[:1], f.Pods[:1]
	f.Bindings, f.Containers = nil, nil
	f.Mounts = f.Mounts[:1]
	f.Mounts[0].EndedAt, f.Mounts[0].EndedNotBefore = day(2, 28), day(2, 28)
	f.Pods[0].Name = "mysql-restored"
	return f
}

// flagsOf returns flags, each NAME=VALUE, as a report takes them.
func flagsOf(flags []string) map[string]string {
	parameters := map[string]string{}
	for _, f := range flags {
		key, value, _ := strings.Cut(f, "=")
		parameters[key] = value
	}
	return parameters
}

// pairs is the reverse of flagsOf.
func pairs(flags map[string]string) (list []string) {
	for name, value := range flags {
		list = append(list, name+"="+value)
	}
	return list
}

// arguments returns the flags that a report cannot do without.
func arguments(r catalog.Report) (flags []string) {
	for _, f := range r.Flags {
		if f.Argument {
			flags = append(flags, f.Name+"=x")
		}
	}
	return flags
}

func report(t *testing.T, c *catalog.Catalog, name string, format catalog.Format, flags ...string) string {
	t.Helper()
	result, err := c.RunReport(t.Context(), name, flagsOf(flags), 0)
	if err != nil {
		t.Fatalf("%s %v: %v", name, flags, err)
	}
	var out strings.Builder
	if err := result.Write(&out, format); err != nil {
		t.Fatalf("%s %v: %v", name, flags, err)
	}
	return out.String()
}

func TestReports(t *testing.T) {
	c := migrated(t)
	older := company() // what was known before must not show
	for i := range older.Mounts {
		older.Mounts[i].Version, older.Mounts[i].EndedAt = 0, 0
	}
	write(t, c, "east", older)
	write(t, c, "east", company())

	golden(t, "mounts.txt", report(t, c, "mounts", catalog.TableFormat))
	golden(t, "mounts.csv", report(t, c, "mounts", catalog.CSVFormat))
	golden(t, "mounts_running.json", report(t, c, "mounts", catalog.JSONFormat, "running=true", "namespace=shop"))
	golden(t, "mounts_running.txt", report(t, c, "mounts", catalog.TableFormat, "running=true"))
	golden(t, "mounts_volume.txt", report(t, c, "mounts", catalog.TableFormat, "volume=pv-old"))
	golden(t, "idle.txt", report(t, c, "idle", catalog.TableFormat))
	golden(t, "idle.csv", report(t, c, "idle", catalog.CSVFormat))
	golden(t, "idle.json", report(t, c, "idle", catalog.JSONFormat, "limit=2"))
	golden(t, "idle_filtered.txt", report(t, c, "idle", catalog.TableFormat, "min-idle=27d", "storageclass=fast", "namespace=shop"))
	golden(t, "space.txt", report(t, c, "space", catalog.TableFormat))
	golden(t, "space_by_storageclass.txt", report(t, c, "space", catalog.TableFormat, "by=storageclass"))
	golden(t, "space_by_storageclass.json", report(t, c, "space", catalog.JSONFormat, "by=storageclass"))

	byName := report(t, c, "mounts", catalog.JSONFormat, "volume=pv-old")
	if byUID := report(t, c, "mounts", catalog.JSONFormat, "volume=old"); byUID != byName {
		t.Errorf("by UID:\n%s", byUID)
	}
	if ended := report(t, c, "mounts", catalog.CSVFormat, "ended=true"); strings.Count(ended, "\n") != 6 {
		t.Errorf("ended:\n%s", ended)
	}
}

func TestReportsTellClustersApart(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", company())
	write(t, c, "west", branch())

	golden(t, "two_clusters_mounts.txt", report(t, c, "mounts", catalog.TableFormat, "volume=pv-data"))
	golden(t, "two_clusters_idle.txt", report(t, c, "idle", catalog.TableFormat, "min-idle=0s", "storageclass=fast"))
	golden(t, "two_clusters_space.txt", report(t, c, "space", catalog.TableFormat))
	golden(t, "one_of_two_clusters.txt", report(t, c, "idle", catalog.TableFormat, "cluster=west"))
}

// A volume of two claims: released from one, kept, and bound to another one in
// another namespace, which does not use it.
func TestAVolumeThatIsBoundAnewCountsOnce(t *testing.T) {
	c := migrated(t)
	volume := fact.Volume{Version: 2, UID: "v", Name: "pv", Phase: "Bound", ClaimUID: "new", ClaimNamespace: "after", ClaimName: "data", SourceID: "nfs:1", CapacityBytes: 3 * gib, CreatedAt: day(1, 1)}
	former := fact.Claim{Version: 1, UID: "old", Namespace: "before", Name: "data", VolumeUID: "v", BoundAt: day(1, 2), DeletedAt: day(1, 20)}
	present := fact.Claim{Version: 1, UID: "new", Namespace: "after", Name: "data", VolumeUID: "v", RequestedBytes: gib, BoundAt: day(2, 1)}
	mount := fact.Mount{Version: 1, Namespace: "before", PodUID: "p", Container: "main", Volume: "data", MountPath: "/data",
		SourceID: "nfs:1", SourceKind: "nfs", ClaimUID: "old", ClaimName: "data", VolumeUID: "v", StartedAt: day(1, 3), EndedAt: day(1, 10), EndedNotBefore: day(1, 10)}
	write(t, c, "east", &fact.Facts{
		VolumeSources: []fact.VolumeSource{{Version: 1, ID: "nfs:1", Kind: "nfs", Server: "::1", Path: "/export"}},
		Volumes:       []fact.Volume{volume},
		Claims:        []fact.Claim{former, present},
		Bindings:      []fact.Binding{{Version: 1, ClaimUID: "old", VolumeUID: "v", BoundAt: day(1, 2), ReleasedAt: day(1, 20)}, {Version: 1, ClaimUID: "new", VolumeUID: "v", BoundAt: day(2, 1)}},
		Pods:          []fact.Pod{{Version: 1, UID: "p", Namespace: "before", Name: "user"}},
		Mounts:        []fact.Mount{mount},
	})
	golden(t, "bound_anew.txt", report(t, c, "idle", catalog.CSVFormat)+report(t, c, "mounts", catalog.CSVFormat)+report(t, c, "space", catalog.TableFormat))
}

// A claim lost its volume twice and got it again: the volume is one row, idle since the last binding if nobody has used it.
func TestAVolumeThatItsClaimGotAgainIsIdleOnce(t *testing.T) {
	c := migrated(t)
	unbound, unused := claimOf("unbound", "fast", "unbound", 1), claimOf("unused", "fast", "unused", 1)
	unused.UnusedSince = day(1, 4) // a tracker watched then: the last use counts
	f := &fact.Facts{
		Volumes: []fact.Volume{volumeOf("unbound", "fast", "csi:1", "claim-unbound", "Bound", 1), volumeOf("unused", "fast", "csi:1", "claim-unused", "Bound", 1)},
		Claims:  []fact.Claim{unbound, unused},
		Pods:    []fact.Pod{podOf("shop", "db-0", "StatefulSet", "db")},
		Mounts:  []fact.Mount{endedMount(mountOf("db-0", "data", "unused", "csi:1", "unused", day(1, 3)), day(1, 20), day(1, 20), "Deleted")},
	}
	for _, name := range []string{"unbound", "unused"} {
		f.Bindings = append(f.Bindings,
			fact.Binding{Version: 1, ClaimUID: "claim-" + name, VolumeUID: name, Ordinal: 2, BoundAt: day(2, 15)},
			fact.Binding{Version: 1, ClaimUID: "claim-" + name, VolumeUID: name, BoundAt: day(1, 2), ReleasedAt: day(1, 10), ReleasedNotBefore: day(1, 10)},
			fact.Binding{Version: 1, ClaimUID: "claim-" + name, VolumeUID: name, Ordinal: 1, BoundAt: day(1, 11), ReleasedAt: day(2, 10), ReleasedNotBefore: day(2, 10)})
	}
	f.Coverage = []fact.Coverage{{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(1, 1), SeenAt: day(3, 1)}}
	write(t, c, "east", f)
	write(t, c, "west", f)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"idle", "cluster", "", "east,west,east,west"},
		{"idle", "volume", "cluster=east", "pv-unused,pv-unbound"},
		{"idle", "state", "cluster=east", "idle,never_mounted"},
		{"idle", "idle_since", "cluster=east", "2026-01-20T12:00:00Z,2026-02-15T12:00:00Z"},
		{"idle", "observed_seconds", "cluster=east", "3456000,1209600"},
	})
	rows := plain(t, c, "SELECT volume, idle_since FROM idle_volumes WHERE cluster = 'east' ORDER BY volume")
	if want := "- volume: pv-unbound\n  idle_since: \"2026-02-15T12:00:00Z\"\n- volume: pv-unused\n  idle_since: \"2026-01-20T12:00:00Z\"\n"; rows != want {
		t.Errorf("the view idle_volumes has\n%s, want\n%s", rows, want)
	}
}

// TestWhatNobodyWatchedHasNoTotal: beside the total of a window, that of a part of the window before would be a false comparison.
func TestWhatNobodyWatchedHasNoTotal(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	for window, want := range map[string]string{
		"since=2025-12-29,until=2026-01-12": "total 3 3",     // the window before has no part that was watched
		"since=2026-01-19,until=2026-02-22": "total 0 1",     // one of five
		"since=2026-02-16,until=2026-03-01": "total 0 0 1 0", // all
	} {
		table := report(t, c, "creation-rate", catalog.TableFormat, append(strings.Split(window, ","), "per=week")...)
		lines := strings.Split(strings.TrimSpace(table), "\n")
		if got := strings.Join(strings.Fields(lines[len(lines)-1]), " "); got != want {
			t.Errorf("%s: want %s, got\n%s", window, want, table)
		}
	}
}

func TestAPartHasNoTotal(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", company())
	if got := report(t, c, "space", catalog.TableFormat, "by=storageclass", "limit=2"); strings.Contains(got, "total") {
		t.Errorf("the total of two of three classes:\n%s", got)
	}
}

// TestTheTotalSaysWhatItIs in the first column that is not summed up; without such a column there is no total, which would look like a row.
func TestTheTotalSaysWhatItIs(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", company())
	for columns, want := range map[string]string{
		"capacity_bytes,claims,namespace": "195 GiB 7 total",
		"namespace,capacity_bytes":        "total 195 GiB",
		"capacity_bytes,claims":           "0 B 1",
	} {
		for _, format := range []catalog.Format{catalog.TableFormat, catalog.MarkdownFormat} {
			result, err := c.RunReport(t.Context(), "space", nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := errors.Join(result.Select(strings.Split(columns, ",")), result.Write(&out, format)); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := strings.Join(strings.Fields(strings.ReplaceAll(lines[len(lines)-1], "|", " ")), " "); got != want {
				t.Errorf("%s of %s: want %s, got\n%s", format, columns, want, out.String())
			}
		}
	}
}

// TestTheFirstRowsComeWithANote asks for fewer rows than there are, as the command line does for tables.
func TestTheFirstRowsComeWithANote(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", company())
	first := func(name string, most int) (text, notes string) {
		result, err := c.RunReport(t.Context(), name, nil, most)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := result.Write(&out, catalog.TableFormat); err != nil {
			t.Fatal(err)
		}
		said, err := result.Notes()
		if err != nil {
			t.Fatal(err)
		}
		return out.String(), strings.Join(said, "\n")
	}
	const note = "only the first 1 rows are shown; --limit=0 shows all"
	for _, name := range []string{"space", "mounts"} {
		all := strings.SplitAfter(report(t, c, name, catalog.CSVFormat), "\n")
		switch text, notes := first(name, 1); {
		case strings.Count(text, "\n") != 2 || strings.Contains(text, "total"):
			t.Errorf("%s: a title and a row without a total are wanted, got\n%s", name, text)
		case !strings.Contains(notes, note):
			t.Errorf("%s: want the note %q, got\n%s", name, note, notes)
		}
		whole, notes := first(name, len(all)-2)
		if got := report(t, c, name, catalog.TableFormat); whole != got || strings.Contains(notes, "only the first") {
			t.Errorf("%s: as many rows as there are: got\n%s%s\nwant\n%s", name, whole, notes, got)
		}
	}
}

func TestReportsWithoutTablesNameTheCure(t *testing.T) {
	c := catalogtest.Open(t, sharedAddress, "default")
	for _, r := range catalog.Reports() {
		_, err := c.RunReport(t.Context(), r.Name, flagsOf(arguments(r)), 0)
		if err == nil || !strings.Contains(err.Error(), "catalog: report "+r.Name) || !strings.Contains(err.Error(), "`kubevoltracker schema migrate`") {
			t.Errorf("%s: got %v", r.Name, err)
		}
	}
}

// TestPrintedSQLAnswersTheSame runs what --sql prints, with the parameters of its comments.
func TestPrintedSQLAnswersTheSame(t *testing.T) {
	ofTeam, inTrouble := migrated(t), troubled(t)
	f := team()
	f.Volumes = append(f.Volumes, retainedVolume())
	write(t, ofTeam, "east", f)
	for _, r := range catalog.Reports() {
		c := ofTeam
		if slices.Contains(troubles, r.Name) {
			c = inTrouble
		}
		flags := flagsOf(arguments(r))
		if slices.ContainsFunc(r.Flags, func(f catalog.Flag) bool { return f.Name == "since" }) {
			flags["since"] = "60d"
		}
		for name, value := range map[string]string{"volume": "shop/data", "claim": "shop/data", "pod": "shop/api-1", "workload": "shop/Deployment/api", "name": "pv-data"} {
			if flags[name] != "" {
				flags[name] = value
			}
		}
		statement, err := c.ReportSQL(r.Name, flags)
		if err != nil {
			t.Fatal(err)
		}
		result, err := c.Query(t.Context(), statement.Script(), statement.Parameters)
		if err == nil && r.Topic == "The life of one object" && r.Name != "find" {
			err = result.Select([]string{"cluster", "started_at", "ended_at", "ended_not_before", "lasted_seconds", "event", "object", "details", "actor"})
		}
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		var got strings.Builder
		if err := result.Write(&got, catalog.JSONFormat); err != nil {
			t.Fatal(err)
		}
		want := report(t, c, r.Name, catalog.JSONFormat, pairs(flags)...)
		if r.Name == "space" {
			want = strings.ReplaceAll(want, `"namespace": `, `"group": `)
		}
		if got.String() != want || want == "[]\n" {
			t.Errorf("%s: got\n%s\nwant\n%s", r.Name, got.String(), want)
		}
	}
}

// TestSQLHasTheFlagsThatAreGiven prints each report by each flag that chooses, and by all of them. The answers are compared with a model by test/history.
func TestSQLHasTheFlagsThatAreGiven(t *testing.T) {
	c := catalogtest.Open(t, sharedAddress, "default")
	nothing := regexp.MustCompile(`true\s+AND|AND\s+true|WHERE\s+true|(?m:^\s*$)`)
	for _, r := range catalog.Reports() {
		given := flagsOf(arguments(r))
		var chooses []string
		for _, f := range r.Flags {
			if f.Kind == catalog.Text && !f.Argument {
				chooses = append(chooses, f.Name)
			}
		}
		for i := range len(chooses) + 2 {
			flags := maps.Clone(given)
			for j, name := range chooses {
				if i == j || i > len(chooses) {
					flags[name] = "chosen"
				}
			}
			statement, err := c.ReportSQL(r.Name, flags)
			if err != nil {
				t.Fatal(err)
			}
			if found := nothing.FindString(strings.TrimSpace(statement.SQL)); found != "" {
				t.Errorf("%s %v: the SQL has %q", r.Name, flags, found)
			}
			for _, name := range chooses {
				if has := strings.Contains(statement.SQL, "{"+name+":String}"); has != (flags[name] != "") {
					t.Errorf("%s %v: that the SQL chooses by --%s is %v", r.Name, flags, name, has)
				}
			}
		}
	}
}

// TestPrintedCommandsSurviveTheShell has a shell read the words of the command lines that --sql prints.
func TestPrintedCommandsSurviveTheShell(t *testing.T) {
	c := catalogtest.Open(t, sharedAddress, "default")
	for _, value := range []string{"pv", "it's", `a\b "c" $HOME`, "tab\there\nand 'there'\r", "日本 \u202e", "-- x", "$(exit 1)`exit 1`"} {
		statement, err := c.ReportSQL("apps", map[string]string{"volume": value})
		if err != nil {
			t.Fatal(err)
		}
		comment, _, _ := strings.Cut(statement.Script(), strings.TrimSpace(statement.SQL))
		if !strings.Contains(comment, "clickhouse-client --database=default --queries-file=FILE") {
			t.Errorf("the database is another one: %s", comment)
		}
		for line := range strings.Lines(comment) {
			if !strings.HasPrefix(line, "--") {
				t.Errorf("%q ends the comment: %s", value, line)
			}
		}
		script, _, _ := strings.Cut(comment, "-- or by")
		words := strings.ReplaceAll(strings.ReplaceAll(script, "\n--", "\n"), "-- Run this file by", "")
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "kubevoltracker() { printf '%s\\0' \"$@\"; }\n"+words).Output()
		if err != nil || !slices.Contains(strings.Split(string(out), "\x00"), "--param=volume="+value) {
			t.Errorf("%q: %v\n%s\n%q", value, err, words, out)
		}
	}
}

func TestReportsWithoutRowsStillHaveTheirColumns(t *testing.T) {
	c := migrated(t)
	var out strings.Builder
	for _, r := range catalog.Reports() {
		for _, format := range []catalog.Format{catalog.TableFormat, catalog.CSVFormat} {
			out.WriteString(r.Name + " " + string(format) + "\n" + report(t, c, r.Name, format, arguments(r)...))
		}
	}
	golden(t, "empty.txt", out.String())
	for format, want := range map[catalog.Format]string{
		catalog.JSONFormat: "[]\n", catalog.YAMLFormat: "[]\n", catalog.MarkdownFormat: "| KIND | COUNT |\n|---|---|\n",
	} {
		if got := report(t, c, "counts", format); got != want {
			t.Errorf("%s: %q", format, got)
		}
	}
}

func TestMistakesInReportsGetOneLine(t *testing.T) {
	c := migrated(t)
	for _, test := range []struct{ name, flag, value, want string }{
		{"nonsense", "", "", `unknown report "nonsense"; there are mounts, users, apps`},
		{"isdle", "", "", `unknown report "isdle"; did you mean idle?`},
		{"histroy", "", "", `unknown report "histroy"; did you mean history?`},
		{"idle", "min-idle", "soon", `report idle: --min-idle: "soon" is not a duration; write 30d or 12h`},
		{"idle", "limit", "-1", `report idle: --limit: "-1" is not a whole number from 0`},
		{"idle", "volume", "x", `report idle: unknown flag --volume`},
		{"space", "by", "pod", `report space: --by: "pod" is not one of namespace, owner, group, storageclass`},
		{"mounts", "running", "yes!", `report mounts: --running: "yes!" is neither true nor false`},
	} {
		parameters := map[string]string{}
		if test.flag != "" {
			parameters[test.flag] = test.value
		}
		if _, err := c.RunReport(t.Context(), test.name, parameters, 0); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	_, err := c.RunReport(t.Context(), "mounts", map[string]string{"running": "true", "ended": "true"}, 0)
	if err == nil || !strings.Contains(err.Error(), "--running and --ended exclude each other") {
		t.Errorf("got %v", err)
	}
}

func TestFlagsOfReportsAreValuesNeverSQL(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", company())
	for _, value := range []string{"' OR 1=1 --", `\' OR '1'='1`, "a\tb\nc", `{volume:String}`} {
		if got := report(t, c, "mounts", catalog.JSONFormat, "volume="+value, "namespace="+value); got != "[]\n" {
			t.Errorf("%q: %s", value, got)
		}
		for _, r := range catalog.Reports() {
			flags := []string{}
			for _, f := range r.Flags {
				if f.Kind == catalog.Text {
					flags = append(flags, f.Name+"="+value)
				}
			}
			if got := report(t, c, r.Name, catalog.JSONFormat, flags...); got != "[]\n" {
				t.Errorf("%s, %q: %s", r.Name, value, got)
			}
		}
	}
}

// remarkOf returns what is said beside a report.
func remarkOf(t *testing.T, c *catalog.Catalog, flags map[string]string) string {
	t.Helper()
	result, err := c.RunReport(t.Context(), "idle", flags, 0)
	if err == nil {
		err = result.Write(io.Discard, catalog.CSVFormat)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result.Remark()
}

func TestTheIdleReportSaysWhyItsTwoTimesDiffer(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", company())
	if remark := remarkOf(t, c, nil); !strings.Contains(remark, "OBSERVED the part of it that a tracker watched") {
		t.Errorf("%q", remark)
	}
	// Watched for all of its idle time but the last minute and a half, which a row can be late.
	write(t, c, "west", branch())
	if remark := remarkOf(t, c, map[string]string{"cluster": "west"}); remark != "" {
		t.Errorf("%q", remark)
	}
}

// TestIdleSinceAUseThatOnlyUnusedShowed: the condition has changed since, and the volume's row knows it.
func TestIdleSinceAUseThatOnlyUnusedShowed(t *testing.T) {
	c := migrated(t)
	facts := &fact.Facts{}
	for name, times := range map[string][2]fact.Time{ // the end of the last use that was watched, and of one that was not
		"never watched": {0, day(2, 7)}, "watched before": {day(2, 1), day(2, 7)}, "watched after": {day(2, 9), day(2, 7)},
	} {
		facts.Volumes = append(facts.Volumes, fact.Volume{
			Version: 1, UID: name, Name: name, Phase: "Bound", ClaimUID: name, CreatedAt: day(1, 1), UnseenUseAt: times[1],
		})
		facts.Claims = append(facts.Claims, fact.Claim{Version: 1, UID: name, Namespace: "shop", Name: name, VolumeUID: name, Phase: "Bound", CreatedAt: day(1, 1), BoundAt: day(1, 2)})
		if times[0] != 0 {
			facts.Mounts = append(facts.Mounts, fact.Mount{
				Version: 1, Namespace: "shop", PodUID: name, Container: "main", MountPath: "/", ClaimUID: name, VolumeUID: name,
				StartedAt: day(1, 3), EndedAt: times[0], EndedNotBefore: times[0],
			})
		}
	}
	write(t, c, "east", facts)
	result, err := c.RunReport(t.Context(), "idle", map[string]string{"cluster": "east"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := result.Write(&got, catalog.Format("csv")); err != nil {
		t.Fatal(err)
	}
	for name, since := range map[string]string{"never watched": "2026-02-07", "watched before": "2026-02-07", "watched after": "2026-02-09"} {
		if !strings.Contains(got.String(), name+`","idle","`+since) && !strings.Contains(got.String(), name+",idle,"+since) {
			t.Errorf("%s is to be idle since %s:\n%s", name, since, got.String())
		}
	}
}
