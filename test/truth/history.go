package truth

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// history lists the versions of an object, a line each, for whoever looks into a difference.
func (a *Log) history(uid string) string {
	var lines strings.Builder
	id := types.UID(strings.TrimSuffix(uid, ":"))
	line := func(at time.Time, number uint64, o metav1.Object, more ...any) {
		fmt.Fprintf(&lines, "\n    %s %d", at.Format("15:04:05.000"), number)
		if deleting := o.GetDeletionTimestamp(); deleting != nil {
			fmt.Fprintf(&lines, " deleting %s", deleting.Format(time.TimeOnly))
			if grace := o.GetDeletionGracePeriodSeconds(); grace != nil {
				fmt.Fprintf(&lines, " grace %d", *grace)
			}
		}
		fmt.Fprintln(&lines, append([]any{" ", o.GetName(), o.GetFinalizers()}, more...)...)
	}
	if l := a.pods[id]; l != nil {
		for _, v := range l.versions {
			line(v.at, v.number, v.object, v.object.Status.Phase)
			for _, s := range v.object.Status.ContainerStatuses {
				fmt.Fprintf(&lines, "      %s %s", s.Name, &s.State)
			}
		}
	}
	if l := a.claims[id]; l != nil {
		for _, v := range l.versions {
			line(v.at, v.number, v.object, v.object.Status.Phase, v.object.Spec.VolumeName, UnusedOf(v.object))
		}
	}
	if l := a.volumes[id]; l != nil {
		for _, v := range l.versions {
			line(v.at, v.number, v.object, v.object.Status.Phase, v.object.Spec.ClaimRef, v.object.Status.LastPhaseTransitionTime)
		}
	}
	if l := a.attachments[id]; l != nil {
		for _, v := range l.versions {
			line(v.at, v.number, v.object, v.object.Status.Attached)
		}
	}
	return lines.String()
}

// UnusedOf returns what a claim's condition Unused says, and "" if it has none.
func UnusedOf(claim *corev1.PersistentVolumeClaim) string {
	for _, c := range claim.Status.Conditions {
		if c.Type == "Unused" {
			return fmt.Sprintf("Unused %s since %s", c.Status, c.LastTransitionTime.UTC().Format(time.TimeOnly))
		}
	}
	return ""
}

// Explain returns an error that lists what is wrong, and nil if nothing is. It adds the audit log's history of the
// first five.
func (t *Truth) Explain(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d states and last uses are wrong", len(wrong))
	for i, line := range wrong {
		text.WriteString("\nwrong: " + line)
		if i < 5 {
			text.WriteString(t.log.history(uidIn.FindString(line)))
		}
	}
	return errors.New(t.Named(text.String()))
}

// UIDs returns the UIDs in a text.
func UIDs(text string) []string { return uidIn.FindAllString(text, -1) }

var uidIn = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// Named puts names in front of the UIDs in a text.
func (t *Truth) Named(text string) string {
	var pairs []string
	for uid, name := range t.names {
		pairs = append(pairs, string(uid), name+" ("+string(uid)+")")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
