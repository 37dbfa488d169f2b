package catalog_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// queriesPage is made by this test with -update.
const queriesPage = "../docs/queries.md"

// samples are the flags with which docs/queries.md shows each report, on the history of team.
var samples = map[string]string{
	"same-store":      "",
	"blocked":         "",
	"stranded":        "",
	"mounts":          "--running",
	"users":           "pv-data --since=60d",
	"apps":            "pv-data --at=2026-02-08",
	"history":         "--group=data --since=60d",
	"pods-per-volume": "--since=60d",
	"volumes-per-pod": "",
	"ephemeral":       "--since=2026-02-01 --until=2026-02-28",
	"bindings":        "--since=60d",
	"at":              "--at=2026-02-08",
	"find":            "nfs.example.com",
	"volume":          "pv-data",
	"claim":           "shop/logs",
	"pod":             "shop/report-1",
	"workload":        "shop/Deployment/api",
	"never-mounted":   "",
	"left-behind":     "",
	"capacity":        "--at=2026-02-01",
	"idle":            "; --at=2026-02-02",
	"space":           "--by=storageclass; --by=owner --at=2026-02-08; --since=2026-02-01 --until=2026-02-11",
	"use-hours":       "--since=60d",
	"orphans":         "",
	"static":          "",
	"filling":         "--since=60d",
	"rightsize":       "--headroom=30",
	"app-changes":     "pv-data",
	"creation-rate":   "--since=2026-01-26 --per=week",
	"resizes":         "--since=60d",
	"lifetimes":       "",
	"counts":          "--at=2026-02-01",
	"coverage":        "",
	"diff":            "--since=2026-01-15 --until=2026-02-15",
}

// meanings say what the columns of all reports are. A name means the same in each, unless its text says otherwise.
var meanings = map[string]string{
	"action":                "`resize_requested` or `resized`",
	"actor":                 "the field manager that made the change, where the object names it",
	"advised_bytes":         "a size for the next claim: the most used plus `--headroom`, in whole GiB",
	"after":                 "at the later moment: the size, the claim, or how many mounts",
	"age_seconds":           "how long ago it was created",
	"apps":                  "the workloads on the volume right after the change, also those that the flags leave out",
	"at":                    "when it happened; where nobody watched, the latest that it can have been",
	"at_not_before":         "the earliest that it can have been, where that differs",
	"backend":               "the backing store: driver, server, path or handle",
	"before":                "at the earlier moment: the size, the claim, or how many mounts",
	"bound_at":              "when the claim got the volume",
	"bound_volumes":         "volumes that are bound to a claim",
	"capacity_bytes":        "size of the volumes; of the report `capacity`, what can still be provisioned",
	"change":                "`came` or `went`",
	"claim":                 "name of the PersistentVolumeClaim; empty where the pod names the backing store itself",
	"claims":                "how many claims, or which ones",
	"claims_before":         "claims created in the same part of the window before; empty if it began before anybody watched",
	"cluster":               "the cluster; tables leave it out where there is one only",
	"container":             "name of the container",
	"count":                 "how many there are",
	"created_at":            "creation, by the API",
	"days_left":             "days until nothing fits any more, if it goes on as in the window",
	"deleted_at":            "the latest that it can have been deleted; empty while it exists",
	"deleted_not_before":    "the earliest that it can have been deleted, where that differs",
	"details":               "what else is known of it",
	"difference":            "`came`, `went`, `resized`, `resize_requested`, `bound`, `released` or `mounts`",
	"driver":                "the provisioner of the class",
	"end_reason":            "why the mount ended",
	"ended":                 "how many ended in the window",
	"ended_at":              "the latest that it can have ended; empty while it lasts, and for what has no duration",
	"ended_not_before":      "the earliest that it can have ended, where that differs",
	"event":                 "`exists`, `bound`, `attached` (since its creation, if nobody knows when; or `attaching`: not attached yet), `ran` (or `waited`: no container has started), `mounted`, `unwatched`, or an action of the table `changes`",
	"fitted_seconds":        "how long the time is to which the line is fitted",
	"full_at":               "when nothing fits any more; empty beyond a hundred years",
	"groups":                "the groups of the owner",
	"growth_per_day_bytes":  "how many bytes more are used each day, by the line; empty if they do not grow",
	"growth_per_day_inodes": "how many files more there are each day, by the line; empty if they do not grow",
	"held_since":            "since when the holder has it mounted, or the node has it attached; empty if no container of the holder has mounted it, or nobody knows when it was attached",
	"holder":                "the pod that has the claim; empty if only the node still has the volume attached",
	"holder_node":           "the node of that pod, or to which the volume is attached",
	"holder_workload":       "workload of that pod",
	"waits_seconds":         "for how long it has waited",
	"waits_since":           "creation of the pod; of a claim, when its deletion was asked for",
	"idle_bytes":            "size of the volumes that nobody uses",
	"idle_seconds":          "the longest that the volume can have been unused",
	"idle_since":            "since when it is unused",
	"inline":                "how many backing stores the pod names itself, without a claim",
	"inodes":                "how many files the file system can have; 0 if it has no such limit",
	"inodes_used":           "how many files it has, as kubelets said last",
	"keep_reason":           "why it is kept, as its annotation says; or, after `unreadable:`, the text of an annotation that cannot be read",
	"keep_until":            "until when the annotation `kubevoltracker.io/keep` keeps it, though nobody uses it: the midnight (UTC) at which the last day ends; with `--at` it is not known",
	"kind":                  "kind of the object; of a container `init`, `sidecar`, `main` or `ephemeral`",
	"first_day":             "the first day in the window, in UTC, on which it was used",
	"last_day":              "the last day in the window, in UTC, on which it was used",
	"used_seconds":          "for how many seconds at least one of the pods used it",
	"requested_byte_hours":  "what claims asked for: a byte for an hour is a byte-hour",
	"capacity_byte_hours":   "byte-hours of the sizes of bound and released volumes",
	"idle_byte_hours":       "byte-hours of the sizes of volumes that nobody used",
	"used_byte_hours":       "byte-hours of the used bytes, where a kubelet has measured them",
	"last_namespace":        "namespace of the last user",
	"last_pod":              "the last pod that used it",
	"last_used_at":          "end of the last use that was observed",
	"last_workload":         "topmost controller of that pod, as KIND/NAME; empty if it has none",
	"lasted_seconds":        "how long it lasted, or has lasted so far; empty for what has no duration",
	"life":                  "the row, drawn on the time from the first row to the last: `█` for what lasts, `•` for a moment, `░` for unwatched; only in tables",
	"longest_seconds":       "the longest life",
	"matched":               "what of the object has the name: its `name`, `uid`, `handle`, a field of its `backing store`, …",
	"max_used_at":           "when kubelets first reported `max_used_bytes`",
	"max_used_bytes":        "the most that was used in the window",
	"maximum_volume_bytes":  "size of the largest volume that can be provisioned, where the driver says it",
	"median_seconds":        "half of the lives were shorter",
	"mount_path":            "path in the container",
	"name":                  "name of the object",
	"namespace":             "namespace of the pod or the claim",
	"namespaces":            "the namespaces of the pods",
	"next_step":             "what to do next",
	"node":                  "the node of the pod; of the report `same-store`, the one that has the path; of the report `stranded`, the last one that could reach it",
	"nodes":                 "the nodes of the pods",
	"object":                "KIND/NAME or KIND/NAMESPACE/NAME",
	"observed_seconds":      "the part of `idle_seconds` that a tracker watched, or the API server vouches for",
	"orphaned_seconds":      "for how long it has been an orphan",
	"orphaned_since":        "since when it has been an orphan; of a use that nobody saw end, the latest that it can have ended; empty where nobody observed it",
	"owner":                 "owner of the pod, else of its claim",
	"period_end":            "end of the part of the window; of the last one, the end of the window",
	"period_start":          "beginning of the part of the window",
	"persistentvolume":      "name of the PersistentVolume",
	"phase":                 "of the claim `Pending`, `Bound` or `Lost`; of the reports `at` and `stranded`, of the volume",
	"pod":                   "name of the pod",
	"pods":                  "how many pods",
	"read_only":             "all of its mounts are read-only",
	"reason":                "`Released, Retain`, `Available, was bound`, `Failed`, `claim gone`, `Lost`, `no pods`, `scaled down`, `not mounted` or `never mounted`; of the report `stranded`, `no node` or `presumed: another node has the name`; of the report `blocked`, `ReadWriteOncePod` (one pod at a time can have the claim), `attached elsewhere`, `presumed: mounted elsewhere` (no VolumeAttachment says it), `attach error` or `being deleted`",
	"reclaim_policy":        "`Delete` or `Retain`",
	"released_at":           "the latest that the claim can have lost the volume; empty while it has it",
	"released_not_before":   "the earliest that it can have lost the volume, where that differs",
	"released_volumes":      "volumes whose claim is gone",
	"reported_at":           "when the driver reported the capacity",
	"requested_bytes":       "what the claims ask for",
	"runs_out":              "what runs out first: `bytes` or `inodes`",
	"shortest_seconds":      "the shortest life",
	"since":                 "creation; of a workload, an owner, a group or a node, of its first pod or claim that is known",
	"size":                  "the size before and after",
	"source":                "kind of the backing store: `nfs`, `csi`, `emptyDir`, …",
	"spare_bytes":           "how much larger the volume is than `advised_bytes`; negative if it is smaller",
	"started_at":            "when it began, or happened; of a mount, the latest that its container can have started",
	"pods_together":         "the pods, as NAMESPACE/NAME, that had it mounted while others had",
	"together_seconds":      "how long it was mounted while others were, as far as is certain",
	"others":                "who else has the store: volumes, and the namespaces of pods that name it themselves; in another cluster CLUSTER/NAME, and presumed",
	"state":                 "of a volume `idle`, `released` or `never_mounted`; of a span `watched` or `unwatched`; of a store `shared` (the others exist at the same time; pods in a namespace while they use it, but for pauses of up to a week) or `reused` (one after the other), or `presumed` so: in another cluster, or by a kind that does not say all, the same name may be another store",
	"stranded_seconds":      "for how long it has been stranded",
	"stranded_since":        "when the last node that met the affinity went, or lost its label: the latest that it can have been; empty if no such node was seen",
	"storage_class":         "the StorageClass",
	"storageclass":          "the StorageClass (`--by=storageclass`)",
	"topology":              "the nodes that can reach the storage: a selector, or the terms of the node affinity",
	"uid":                   "UID of the object; of a backing store, its `id` in `volume_sources`",
	"unchanged_seconds":     "for how long it has not changed",
	"unchanged_since":       "when used bytes or files changed last, or a kubelet first looked",
	"until":                 "deletion; empty while it exists",
	"unused_since":          "since when no pod refers to it, by its condition `Unused`",
	"used_bytes":            "how much is used, as kubelets said last",
	"used_percent":          "`max_used_bytes` in percent of `capacity_bytes`; more than 100 is possible on a shared file system",
	"used_since":            "the first of the uses began",
	"used_until":            "the last of the uses ended; empty while there is one",
	"volume":                "name of the PersistentVolume; of the report `mounts`, the pod's name for it",
	"volumes":               "how many volumes",
	"volumes_before":        "volumes created in the same part of the window before; empty if it began before anybody watched",
	"workload":              "the topmost controller of the pod, as KIND/NAME; a pod without one is its own",
	"workloads":             "the workloads of all pods",
}

const queriesHead = `# Questions

<!-- Made from the reports by ` + "`make docs`" + `. -->

` + "`kubevoltracker report`" + ` lists the questions. Each is a command, and SQL that is made from files of ` + "`catalog/reports`" + `: ` + "`--sql`" + ` prints it
for the flags that are given, with their values, as a file that ` + "`kubevoltracker sql --file=FILE`" + ` and clickhouse-client run. The file
has one statement with the rows of the report; the report itself may ask smaller ones first, to read less.

- **The past**: ` + "`--at`" + ` is for a moment, ` + "`--since`" + ` and ` + "`--until`" + ` are for a window. Each takes how long ago (` + "`30d`, `12h`" + `), a date
  (` + "`2026-11-20`" + `), or a time (` + "`\"2026-11-20 15:04\"`, `2026-11-20T15:04:05Z`" + `); without a zone it is UTC. A window has all that lasted or happened
  at any time in it. What ended in a gap of watching counts until the latest moment at which it can have ended. Notes below
  the rows say when nobody watched.
- **Fewer rows**: ` + "`--namespace`, `--owner`, `--group`, `--storageclass`, `--workload`, `--cluster` and `--limit`" + ` mean the same in each report that
  has them. A mount has the owner of its pod, else that of its claim; a volume has the namespace and the owner of the claim that it is bound to
  or was released from. ` + "`resizes` and `creation-rate`" + ` count a volume for each claim that had it. ` + "`--workload`" + ` of a report on claims and
  volumes chooses those that its pods had mounted in the window. A table has the first 1,000 rows unless ` + "`--limit`" + ` says otherwise, and a note
  if there are more; json, csv and yaml have all. [configure.md](configure.md) has all flags.
- **Other formats**: ` + "`-o table`, `json`, `csv`, `yaml` or `markdown`, and `--columns=NAME,NAME`" + `. A table, and one in
  markdown, leaves out columns in which no row has something to say, and of a long list it has the first eight elements and how many more
  there are; the others have all.
- **Again and again**: ` + "`--watch`, or `--watch=10s`" + `.

As a plugin of kubectl the program answers ` + "`kubectl voltracker …`" + ` with reports: give it the file name ` + "`kubectl-voltracker`" + ` (a symbolic link will do).
` + "`source <(kubevoltracker completion bash)`" + ` has the shell complete reports and flags; there are scripts for zsh and fish, too.

The samples are of a small history that the tests know: ` + "`catalog/past_test.go`" + ` draws it. Now is 2026-03-01 12:00. Those of ` + "`same-store`, `blocked`" + `
and ` + "`stranded`" + ` are of another cluster, which has these problems: ` + "`catalog/troubled_test.go`" + `.

`

// retainedVolume is a volume that left its export behind. The history of the team has none.
func retainedVolume() fact.Volume {
	v := volumeOf("archive", "", "nfs:2", "", "Available", 50)
	v.ReclaimPolicy, v.DeletedNotBefore, v.DeletedAt = "Retain", day(2, 5), day(2, 10)
	return v
}

// TestQueriesPage compares docs/queries.md with the reports: questions, commands, answers, flags and columns.
func TestQueriesPage(t *testing.T) {
	c, inTrouble := migrated(t), troubled(t)
	facts := team()
	facts.VolumeSources = append(facts.VolumeSources, fact.VolumeSource{Version: 1, ID: "nfs:2", Kind: "nfs", Server: "nfs.example.com", Path: "/export/archive"})
	facts.Volumes = append(facts.Volumes, retainedVolume())
	write(t, c, "east", facts)
	var page strings.Builder
	page.WriteString(queriesHead)
	topic, seen := "", map[string]bool{}
	for _, r := range catalog.Reports() {
		if r.Topic != topic {
			topic = r.Topic
			fmt.Fprintf(&page, "## %s\n\n", topic)
		}
		if slices.Contains(troubles, r.Name) {
			page.WriteString(section(t, inTrouble, r, seen))
		} else {
			page.WriteString(section(t, c, r, seen))
		}
	}
	page.WriteString("## The columns\n\nUnless its row says otherwise, a name means the same in each report.\n\n| column | |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(meanings)) {
		if !seen[name] {
			t.Errorf("no report has the column %s", name)
		}
		fmt.Fprintf(&page, "| `%s` | %s |\n", name, meanings[name])
	}
	if *update {
		if err := os.WriteFile(queriesPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(queriesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(is) != page.String() {
		t.Errorf("%s is out of date: run `make docs`", filepath.Clean(queriesPage))
	}
}

// section is what the page says of a report. It notes the columns that it has seen.
func section(t *testing.T, c *catalog.Catalog, r catalog.Report, seen map[string]bool) string {
	t.Helper()
	sample, ok := samples[r.Name]
	if !ok {
		t.Errorf("the report %s has no sample", r.Name)
	}
	var flags, columns []string
	for _, f := range r.Flags {
		if !f.Argument {
			flags = append(flags, "`--"+f.Name+"`")
		}
	}
	var blocks strings.Builder
	for call := range strings.SplitSeq(sample, ";") {
		block, names := sampleOf(t, c, r, strings.TrimSpace(call))
		blocks.WriteString(block)
		for _, name := range names {
			if meanings[name] == "" {
				t.Errorf("the column %s of the report %s has no meaning", name, r.Name)
			}
			if quoted := "`" + name + "`"; !slices.Contains(columns, quoted) {
				columns = append(columns, quoted)
			}
			seen[name] = true
		}
	}
	return fmt.Sprintf("### %s\n\n%s %s\n\n%sFlags: %s. Columns: %s. SQL: %s.\n\n",
		r.Name, r.Question, r.Help, &blocks, strings.Join(flags, ", "), strings.Join(columns, ", "), strings.Join(filesOf(t, r), ", "))
}

// filesOf are links to the files with the SQL of a report.
func filesOf(t *testing.T, r catalog.Report) (links []string) {
	t.Helper()
	for _, pattern := range []string{r.Name + ".sql", r.Name + "-*.sql"} {
		files, err := filepath.Glob(filepath.Join("reports", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			links = append(links, fmt.Sprintf("[%s](../catalog/%s)", filepath.Base(file), filepath.ToSlash(file)))
		}
	}
	if len(links) == 0 {
		t.Errorf("the report %s has no SQL", r.Name)
	}
	return links
}

// sampleOf is a call of a report with its answer, and the columns of that.
func sampleOf(t *testing.T, c *catalog.Catalog, r catalog.Report, call string) (block string, columns []string) {
	t.Helper()
	parameters := map[string]string{}
	for _, word := range strings.Fields(call) {
		if flag, isFlag := strings.CutPrefix(word, "--"); isFlag {
			name, value, hasValue := strings.Cut(flag, "=")
			if !hasValue {
				value = "true"
			}
			parameters[name] = value
		} else {
			argument := slices.IndexFunc(r.Flags, func(f catalog.Flag) bool { return f.Argument })
			parameters[r.Flags[argument].Name] = word
		}
	}
	result, err := c.RunReport(t.Context(), r.Name, parameters, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range result.Columns {
		columns = append(columns, column.Name)
	}
	var answer strings.Builder
	if err := result.Write(&answer, catalog.TableFormat); err != nil {
		t.Fatal(err)
	}
	if strings.Count(answer.String(), "\n") < 2 {
		t.Errorf("the sample of the report %s %s has no rows", r.Name, call)
	}
	return fmt.Sprintf("```\n$ %s\n%s```\n\n", strings.TrimSpace("kubevoltracker report "+r.Name+" "+call), answer.String()), columns
}

// TestPrintedCommentsNameNoCode: who reads the SQL that --sql prints need not have the code.
func TestPrintedCommentsNameNoCode(t *testing.T) {
	files, err := filepath.Glob("reports/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	notPrinted := regexp.MustCompile(`(?s)\{\{-? */\*.*?\*/ *-?\}\}`)
	code := regexp.MustCompile(`.*(collector/|catalog/|\brules? \d|\w+\.go\b|Report\.).*`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if line := code.FindString(notPrinted.ReplaceAllString(string(text), "")); line != "" {
			t.Errorf("%s names code: %s", file, line)
		}
	}
}
