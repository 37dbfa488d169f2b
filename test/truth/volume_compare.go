package truth

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// volumeSample is a series of a family that has one series a volume.
type volumeSample struct {
	labels map[string]string
	value  float64
}

var labelPair = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// volumeSamples returns the families that have one series a volume, by family and volume. Two series of one volume
// in one family are an error.
func volumeSamples(metrics map[string]string) (map[string]map[string]volumeSample, error) {
	families := map[string]map[string]volumeSample{}
	for series, text := range metrics {
		family, labels, _ := strings.Cut(series, "{")
		if !strings.HasPrefix(family, "kubevoltracker_volume_") {
			continue
		}
		sample := volumeSample{labels: map[string]string{}}
		for _, pair := range labelPair.FindAllStringSubmatch(labels, -1) {
			sample.labels[pair[1]] = pair[2]
		}
		var err error
		if sample.value, err = strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("%s: %w", series, err)
		}
		name := sample.labels["persistentvolume"]
		family = strings.TrimPrefix(family, "kubevoltracker_volume_")
		if families[family] == nil {
			families[family] = map[string]volumeSample{}
		}
		if _, twice := families[family][name]; twice {
			return nil, fmt.Errorf("volume %s has two series of volume_%s", name, family)
		}
		families[family][name] = sample
	}
	return families, nil
}

// CompareUses compares what /metrics and the report of idle volumes say of each volume with the truth, and returns
// all that differs.
func (t *Truth) CompareUses(test testing.TB, p *harness.Tracker, away Gaps) (summary string, wrong []string, err error) {
	test.Helper()
	uses := t.volumeUses(away)
	families, err := volumeSamples(p.Metrics(test))
	scraped := time.Now()
	if err != nil {
		return "", nil, err
	}
	count := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		u := uses[name]
		count[u.states[0]]++
		for _, problem := range u.compareMetrics(families, scraped) {
			wrong = append(wrong, "metrics "+t.volumeUID(name)+": "+problem)
		}
	}
	for uid := range t.Facts["volume"] {
		name := t.log.volumes[types.UID(uid)].last().object.Name
		for _, family := range slices.Sorted(maps.Keys(families)) {
			if _, shown := families[family][name]; shown && uses[name] == nil {
				wrong = append(wrong, fmt.Sprintf("metrics %s: there is a series of volume_%s, though the volume is gone", uid, family))
			}
		}
	}
	rows := map[string]map[string]any{}
	for _, row := range p.Report(test, "idle") {
		rows[fmt.Sprint(row["volume"])] = row
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		for _, problem := range uses[name].compareReport(rows[name]) {
			wrong = append(wrong, "report idle "+t.volumeUID(name)+": "+problem)
		}
	}
	var states []string
	for _, state := range slices.Sorted(maps.Keys(count)) {
		states = append(states, fmt.Sprintf("%d %s", count[state], state))
	}
	return strings.Join(states, ", "), wrong, nil
}

// volumeUID returns the UID of the volume that has a name now.
func (t *Truth) volumeUID(name string) string {
	for uid, l := range t.log.volumes {
		if l.last().object.Name == name && l.removed().IsZero() {
			return string(uid)
		}
	}
	return name
}

// differences has a line for each value that differs from the truth.
type differences []string

func (d *differences) add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

// compareMetrics compares the volume's series.
func (u *volumeUse) compareMetrics(families map[string]map[string]volumeSample, scraped time.Time) []string {
	state, ok := families["state"][u.name]
	if !ok {
		return []string{"there is no volume_state"}
	}
	var d differences
	u.compareState(&d, state.labels["state"], int(families["mounts"][u.name].value))
	u.compareClaim(&d, state, families["info"][u.name])
	last, ok := families["last_used_timestamp_seconds"][u.name]
	u.compareLastUsed(&d, state.labels["state"], secondsAt(last.value), ok)
	u.compareIdle(&d, families["idle_seconds"][u.name].value, scraped)
	return d
}

// compareState compares the state and the number of mounts that the metrics show.
func (u *volumeUse) compareState(d *differences, state string, mounts int) {
	if !slices.Contains(u.states, state) {
		d.add("volume_state is %s, want %s", state, strings.Join(u.states, " or "))
	}
	if mounts < u.mounts.from || mounts > u.mounts.to {
		d.add("volume_mounts is %d, want %s", mounts, rangeText(u.mounts.from, u.mounts.to))
	}
}

// compareClaim compares the claim that the metrics show, and the claim's owner.
func (u *volumeUse) compareClaim(d *differences, state, info volumeSample) {
	if !u.hasClaim {
		return
	}
	namespace, claim, owner := state.labels["namespace"], state.labels["persistentvolumeclaim"], info.labels["owner"]
	if namespace != u.namespace || claim != u.claim || owner != u.owner && !u.anyOwner {
		d.add("its claim is %s/%s, owned by %q, want %s/%s, owned by %q", namespace, claim, owner, u.namespace, u.claim, u.owner)
	}
}

// compareLastUsed compares the last use that the metrics show, if they show one. A volume that is mounted has none; that
// the state is right is for compareState to say.
func (u *volumeUse) compareLastUsed(d *differences, state string, last time.Time, shown bool) {
	if state != "mounted" {
		u.compareLast(d, "volume_last_used_timestamp_seconds", last, shown)
	} else if shown {
		d.add("volume_last_used_timestamp_seconds is %s, want none while it is mounted", clock(last))
	}
}

// compareLast compares the last use, which has this name where it is shown, and reports whether it is right.
func (u *volumeUse) compareLast(d *differences, name string, last time.Time, shown bool) bool {
	switch {
	case !shown && u.used:
		d.add("%s is missing, want %s", name, timeRange(u.last))
	case shown && !u.used && !u.mayBeUsed:
		d.add("%s is %s, want none: nobody has used it", name, clock(last))
	case shown && !within(last, u.last):
		d.add("%s is %s, want %s", name, clock(last), timeRange(u.last))
	default:
		return true
	}
	return false
}

// compareIdle compares how many seconds the volume was idle when the metrics were scraped.
func (u *volumeUse) compareIdle(d *differences, idle float64, scraped time.Time) {
	used := slices.Contains([]string{"mounted", "pending"}, u.states[0])
	since := scraped.Add(-time.Duration(idle * float64(time.Second)))
	switch {
	case used && len(u.states) == 1:
		if idle != 0 {
			d.add("volume_idle_seconds is %v, want 0 while it is %s", idle, u.states[0])
		}
	case used || len(u.states) > 1 && idle == 0:
	case since.Before(u.idleSince.from.Add(-2*time.Second)) || since.Add(-2*time.Second).After(u.idleSince.to):
		d.add("volume_idle_seconds is %v, which is since %s, want since %s", idle, clock(since), timeRange(u.idleSince))
	}
}

// compareReport compares the volume's row of the report of idle volumes. It lists the bound and released volumes
// that nobody uses, and may list one that a pod waits for.
func (u *volumeUse) compareReport(row map[string]any) []string {
	listed := u.phase == corev1.VolumeBound || u.phase == corev1.VolumeReleased
	pending := slices.Contains(u.states, "pending")
	switch {
	case row == nil && listed && u.mounts.to == 0 && !pending:
		return []string{"it is not listed"}
	case row == nil:
		return nil
	case !listed || u.mounts.from > 0:
		return []string{fmt.Sprintf("it is listed, though it is %s and has %d mounts", u.phase, u.mounts.from)}
	}
	var d differences
	if said := fmt.Sprint(row["state"]); !slices.Contains(u.states, said) && !pending {
		d.add("state is %s, want %s", said, strings.Join(u.states, " or "))
	}
	u.compareLastUser(&d, row)
	if since, _ := reportTime(row["idle_since"]); !pending && !within(since, u.idleSince) {
		d.add("idle_since is %s, want %s", clock(since), timeRange(u.idleSince))
	}
	return d
}

// compareLastUser compares the last use that the report shows, and the pod that ended it.
func (u *volumeUse) compareLastUser(d *differences, row map[string]any) {
	last, known := reportTime(row["last_used_at"])
	pod := fmt.Sprintf("%v/%v", row["last_namespace"], row["last_pod"])
	if u.compareLast(d, "last_used_at", last, known) && known && !slices.Contains(u.users, pod) {
		d.add("the last user is %s, want %s", pod, strings.Join(u.users, " or "))
	}
}

// within reports whether a moment is in a span. A report or a metric may have cut it to whole seconds.
func within(at time.Time, s span[time.Time]) bool {
	return !at.Before(s.from.Add(-time.Second)) && !at.After(s.to.Add(time.Millisecond))
}

func reportTime(v any) (at time.Time, ok bool) {
	text, _ := v.(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

func secondsAt(v float64) time.Time { return time.UnixMicro(int64(v * 1e6)) }

func clock(at time.Time) string { return at.UTC().Format("15:04:05.000") }

func timeRange(s span[time.Time]) string { return rangeText(clock(s.from), clock(s.to)) }

func rangeText[T comparable](from, to T) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%v … %v", from, to)
}
