package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// keepLog keeps the log of the tracker before the next one starts.
func (r *runner) keepLog() {
	if r.p != nil {
		r.log = append(r.log, r.p.Lines()...)
	}
}

// saveLog writes the logs of all starts to a file, which -artifacts keeps.
func (r *runner) saveLog(name string) {
	r.t.Helper()
	r.keepLog()
	var lines strings.Builder
	for _, line := range r.log {
		fmt.Fprintln(&lines, line["ts"], line["level"], line["msg"], line)
	}
	path := filepath.Join(r.t.ArtifactDir(), name+".log")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		r.t.Error(err)
	}
	r.t.Logf("%s: the logs of the trackers are in %s, if artifacts are kept", name, path)
}

// saveRows writes all rows that the catalog has of the UIDs in a verdict, also replaced ones.
func (r *runner) saveRows(name string, verdict error) {
	r.t.Helper()
	uids := truth.UIDs(verdict.Error())
	slices.Sort(uids)
	list := "('" + strings.Join(slices.Compact(uids), "', '") + "')"
	var text strings.Builder
	for table, columns := range map[string]string{
		"volumes": "uid", "claims": "uid", "pods": "uid", "attachments": "uid, volume_uid", "bindings": "claim_uid, volume_uid", "mounts": "pod_uid, volume_uid",
		"objects": "uid", "changes": "uid", "checkpoints": "", "coverage": "",
	} {
		what, where := "*", "1"
		if columns != "" {
			where = "hasAny([" + columns + "], " + strings.NewReplacer("(", "[", ")", "]").Replace(list) + ")"
		}
		if table == "objects" {
			what = "kind, uid, resource_version, observed_at"
		}
		rows, err := r.p.Query("SELECT " + what + " FROM " + table + " WHERE " + where + " ORDER BY ALL SETTINGS final = 0 FORMAT TSVWithNames")
		fmt.Fprintf(&text, "%s %v\n%s\n\n", table, err, strings.Join(rows, "\n"))
	}
	path := filepath.Join(r.t.ArtifactDir(), name+".rows")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		r.t.Error(err)
	}
}
