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

// compareMetrics compares the volume's series.
func (u *volumeUse) compareMetrics(families map[string]map[string]volumeSample, scraped time.Time) (problems []string) {
	differs := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	state, ok := families["state"][u.name]
	if !ok {
		return []string{"there is no volume_state"}
	}
	said := state.labels["state"]
	if !slices.Contains(u.states, said) {
		differs("volume_state is %s, want %s", said, strings.Join(u.states, " or "))
	}
	if n := int(families["mounts"][u.name].value); n < u.mounts.from || n > u.mounts.to {
		differs("volume_mounts is %d, want %s", n, rangeText(u.mounts.from, u.mounts.to))
	}
	info := families["info"][u.name]
	if u.hasClaim && !(state.labels["namespace"] == u.namespace && state.labels["persistentvolumeclaim"] == u.claim && (info.labels["owner"] == u.owner || u.anyOwner)) {
		differs("its claim is %s/%s, owned by %q, want %s/%s, owned by %q",
			state.labels["namespace"], state.labels["persistentvolumeclaim"], info.labels["owner"], u.namespace, u.claim, u.owner)
	}

	used := slices.Contains([]string{"mounted", "pending"}, u.states[0])
	last, ok := families["last_used_timestamp_seconds"][u.name]
	switch {
	case u.states[0] == "mounted" && len(u.states) == 1:
		if ok {
			differs("volume_last_used_timestamp_seconds is %s, want none while it is mounted", clock(secondsAt(last.value)))
		}
	case !ok && u.used:
		differs("volume_last_used_timestamp_seconds is missing, want %s", timeRange(u.last))
	case ok && !u.used && !u.mayBeUsed:
		differs("volume_last_used_timestamp_seconds is %s, want none: nobody has used it", clock(secondsAt(last.value)))
	case ok && !within(secondsAt(last.value), u.last):
		differs("volume_last_used_timestamp_seconds is %s, want %s", clock(secondsAt(last.value)), timeRange(u.last))
	}

	idle := families["idle_seconds"][u.name].value
	since := scraped.Add(-time.Duration(idle * float64(time.Second)))
	switch {
	case used && len(u.states) == 1:
		if idle != 0 {
			differs("volume_idle_seconds is %v, want 0 while it is %s", idle, u.states[0])
		}
	case used || len(u.states) > 1 && idle == 0:
	case since.Before(u.idleSince.from.Add(-2*time.Second)) || since.Add(-2*time.Second).After(u.idleSince.to):
		differs("volume_idle_seconds is %v, which is since %s, want since %s", idle, clock(since), timeRange(u.idleSince))
	}
	return problems
}

// compareReport compares the volume's row of the report of idle volumes. It lists the bound and released volumes
// that nobody uses, and may list one that a pod waits for.
func (u *volumeUse) compareReport(row map[string]any) (problems []string) {
	differs := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	listed := u.phase == corev1.VolumeBound || u.phase == corev1.VolumeReleased
	switch {
	case row == nil && listed && u.mounts.to == 0 && !slices.Contains(u.states, "pending"):
		return []string{"it is not listed"}
	case row == nil:
		return nil
	case !listed || u.mounts.from > 0:
		return []string{fmt.Sprintf("it is listed, though it is %s and has %d mounts", u.phase, u.mounts.from)}
	}
	if said := fmt.Sprint(row["state"]); !slices.Contains(u.states, said) && !slices.Contains(u.states, "pending") {
		differs("state is %s, want %s", said, strings.Join(u.states, " or "))
	}
	last, known := reportTime(row["last_used_at"])
	pod := fmt.Sprintf("%v/%v", row["last_namespace"], row["last_pod"])
	switch {
	case !known && u.used:
		differs("last_used_at is missing, want %s", timeRange(u.last))
	case known && !u.used && !u.mayBeUsed:
		differs("last_used_at is %s, want none: nobody has used it", clock(last))
	case known && !within(last, u.last):
		differs("last_used_at is %s, want %s", clock(last), timeRange(u.last))
	case known && !slices.Contains(u.users, pod):
		differs("the last user is %s, want %s", pod, strings.Join(u.users, " or "))
	}
	if since, _ := reportTime(row["idle_since"]); !slices.Contains(u.states, "pending") && !within(since, u.idleSince) {
		differs("idle_since is %s, want %s", clock(since), timeRange(u.idleSince))
	}
	return problems
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
