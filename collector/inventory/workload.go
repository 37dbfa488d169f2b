package inventory

import (
	"strconv"
	"strings"
	"time"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// workload is the controller that runs a pod or created a claim.
type workload struct{ kind, name, uid string }

// controller is an object that creates pods, or that creates such objects: a Deployment creates
// ReplicaSets, a CronJob creates Jobs.
type controller struct {
	kind      fact.Kind
	namespace string
	name      string
	parent    workload // its own controller; zero if it is the topmost
	templates []string // of a StatefulSet: the names of its claim templates
	gone      bool
}

// controllersOf are the controllers of a kind that are not gone.
type controllersOf struct {
	inv  *Inventory
	kind fact.Kind
}

func (c controllersOf) has(uid string) bool {
	known := c.inv.controllers[uid]
	return known != nil && known.kind == c.kind && !known.gone
}

func (c controllersOf) uids() (list []string) {
	for uid := range c.inv.controllers {
		if c.has(uid) {
			list = append(list, uid)
		}
	}
	return list
}

func (c controllersOf) count() int { return c.inv.living[c.kind] }

// controllerKind reports whether the inventory follows the owner chain through objects of a kind.
func controllerKind(kind fact.Kind) bool {
	switch kind {
	case fact.StatefulSets, fact.DaemonSets, fact.Deployments, fact.ReplicaSets, fact.CronJobs, fact.Jobs:
		return true
	}
	return false
}

// longestKind is the longest kind in bytes: that of a custom resource is a DNS label.
const longestKind = 63

func controllerOf(o metav1.Object) workload {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return workloadOf(ref)
	}
	return workload{}
}

// workloadOf returns the owner that a reference names. It cuts a kind and a name that no object can have: the API server accepts a
// megabyte of any characters, and each mount of a pod has both in its row.
func workloadOf(ref *metav1.OwnerReference) workload {
	return workload{kind: cutLine(ref.Kind, longestKind), name: cutLine(ref.Name, longestName), uid: string(ref.UID)}
}

func (inv *Inventory) noteController(kind fact.Kind, o metav1.Object) (c *controller, news bool) {
	uid, parent := string(o.GetUID()), controllerOf(o)
	if c = inv.controllers[uid]; c != nil {
		news = c.parent != parent // it was adopted or released; pods that exist keep their workload (rule 6.5)
		c.parent = parent
		if inv.revive(kind, uid) != nil { // rule 6.4
			c.gone, news = false, true
			inv.living[kind]++
		}
		return c, news
	}
	c = &controller{kind: kind, namespace: o.GetNamespace(), name: o.GetName(), parent: parent}
	inv.controllers[uid] = c
	inv.living[kind]++
	waiting := inv.orphans[uid]
	delete(inv.orphans, uid)
	for _, p := range waiting {
		ref := inv.orphanOf[p]
		delete(inv.orphanOf, p)
		traits := p.traits.Value()
		traits.workload = inv.topmost(p, ref, traits.workload)
		if h := unique.Make(traits); h != p.traits {
			p.traits, p.fresh = h, true
			inv.markPod(p)
			inv.markUse(p)
		}
	}
	return c, true
}

func (inv *Inventory) noteStatefulSet(o *appsv1.StatefulSet) bool {
	c, news := inv.noteController(fact.StatefulSets, o)
	if !news || len(c.templates) > 0 {
		return news // claim templates cannot be changed
	}
	for i := range o.Spec.VolumeClaimTemplates {
		template := o.Spec.VolumeClaimTemplates[i].Name
		c.templates = append(c.templates, template)
		inv.templates[name{o.Namespace, template + "-" + o.Name}] = c
	}
	if len(c.templates) == 0 {
		return true
	}
	for _, slot := range inv.claimNames[o.Namespace] {
		for _, claim := range slot.claims {
			inv.adopt(claim)
		}
	}
	return true
}

// adopt sets a StatefulSet as the workload of a claim that is named as its templates name claims:
// TEMPLATE-NAME-ORDINAL. It does so even while there is no pod. A claim keeps its workload when
// that is gone.
func (inv *Inventory) adopt(c *claim) {
	stem, ordinal, ok := cutLast(c.name.name, '-')
	if !ok || ordinal == "" || !digits(ordinal) {
		return
	}
	set := inv.templates[name{c.name.namespace, stem}]
	traits := c.traits.Value()
	if set == nil || traits.workloadKind != "" {
		return
	}
	traits.workloadKind, traits.workloadName = string(fact.StatefulSets), set.name
	c.traits, c.fresh = unique.Make(traits), true
	inv.markClaim(c)
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// dropController records that a controller is gone. Its pods may still end later, so it is kept
// until its tombstone is evicted.
func (inv *Inventory) dropController(uid string, obs Observation) {
	if c := inv.controllers[uid]; c != nil && !c.gone {
		c.gone = true
		inv.living[c.kind]--
		inv.entomb(c.kind, uid, obs.At, c)
		inv.snapshotQueue = append(inv.snapshotQueue, departed{c.kind, uid, obs.At})
	}
}

func (inv *Inventory) evictController(uid string, c *controller) {
	delete(inv.controllers, uid)
	inv.forgetSnapshot(c.kind, uid)
	for _, template := range c.templates {
		if key := (name{c.namespace, template + "-" + c.name}); inv.templates[key] == c {
			delete(inv.templates, key)
		}
	}
}

// podWorkload returns a pod's workload: its topmost known controller, or, for a kind that the
// inventory does not follow, the last owner reference.
func (inv *Inventory) podWorkload(p *pod, o *corev1.Pod) workload {
	ref := controllerOf(o)
	if had := p.traits; had != (unique.Handle[podTraits]{}) {
		_, waits := inv.orphanOf[p]
		if known := had.Value().workload; known != (workload{}) && (!waits || ref == (workload{})) {
			return known // rule 6.5: its controller may be gone, or have released it
		}
	}
	if ref == (workload{}) {
		return workload{}
	}
	return inv.topmost(p, ref, guessWorkload(o, ref))
}

// topmost follows the owner chain up from ref. While a link is not known yet, the pod waits for it
// and topmost returns guess.
func (inv *Inventory) topmost(p *pod, ref, guess workload) workload {
	top := ref
	for range 8 { // longer than any chain; bounds a circular one
		c := inv.controllers[top.uid]
		if c == nil && controllerKind(fact.Kind(top.kind)) {
			inv.await(p, top)
			return guess
		}
		if c == nil || c.parent == (workload{}) {
			break
		}
		top = c.parent
	}
	inv.awaitNoMore(p)
	return top
}

func (inv *Inventory) await(p *pod, ref workload) {
	if inv.orphanOf[p] == ref {
		return
	}
	inv.awaitNoMore(p)
	inv.orphanOf[p] = ref
	inv.orphans[ref.uid] = append(inv.orphans[ref.uid], p)
}

// awaitNoMore removes a pod from those that wait for a controller.
func (inv *Inventory) awaitNoMore(p *pod) {
	ref, waits := inv.orphanOf[p]
	if !waits {
		return
	}
	delete(inv.orphanOf, p)
	remove(inv.orphans, ref.uid, p)
}

// guessWorkload infers a pod's workload from the pod alone, while its controllers are not known or
// the tracker may not list them: a ReplicaSet's name is its Deployment's plus a suffix that its
// pods carry as a label; a Job's name is its CronJob's plus the minute for which it was scheduled.
func guessWorkload(o *corev1.Pod, ref workload) workload {
	switch fact.Kind(ref.kind) {
	case fact.ReplicaSets:
		if hash := o.Labels["pod-template-hash"]; hash != "" {
			if deployment, ok := strings.CutSuffix(ref.name, "-"+hash); ok {
				return workload{kind: string(fact.Deployments), name: deployment}
			}
		}
	case fact.Jobs:
		if cronJob, minutes, ok := cutLast(ref.name, '-'); ok && isScheduled(minutes, o.CreationTimestamp.Time) {
			return workload{kind: string(fact.CronJobs), name: cronJob}
		}
	}
	return ref
}

// scheduleSlack is how far the creation of a pod can be from the moment for which its Job was scheduled: 32 days, for a
// monthly CronJob that was suspended until now. No eight digits that are a date (20260301) are as near to it.
const scheduleSlack = 32 * 24 * time.Hour

// isScheduled reports whether the last part of a Job's name is the scheduled time of a CronJob, in minutes since 1970
// (getJobName in cronjob/utils.go), and fits the creation of the Job's pod.
func isScheduled(text string, created time.Time) bool {
	minutes, err := strconv.ParseUint(text, 10, 32)
	return err == nil && created.Sub(time.Unix(int64(minutes)*60, 0)).Abs() <= scheduleSlack
}

func digits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// claimOwner returns the UID of the pod for whose generic ephemeral volume a claim was created, or
// else the claim's maker: its controller, or its only owner (rule 2.2). A StatefulSet owns its
// claims if its retention policy says so, or makes the pods that are to be deleted own them
// (whenScaled: Delete). Such claims are named TEMPLATE-POD; the claim of an ephemeral volume is
// named POD-VOLUME.
func claimOwner(o *corev1.PersistentVolumeClaim) (pod intern.Word, maker workload) {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil && len(o.OwnerReferences) == 1 {
		ref = &o.OwnerReferences[0]
	}
	switch {
	case ref == nil:
		return pod, maker
	case ref.Kind != string(fact.Pods):
		return pod, workloadOf(ref)
	}
	if set, ordinal, ok := cutLast(ref.Name, '-'); ok && digits(ordinal) && isTemplated(o.Name, ref.Name) {
		return pod, workload{kind: string(fact.StatefulSets), name: set}
	}
	if ref.Controller != nil && *ref.Controller {
		pod = unique.Make(string(ref.UID))
	}
	return pod, maker
}

// isTemplated reports whether a claim is named as a StatefulSet names a pod's claims, and not as
// the claim of a generic ephemeral volume of the pod.
func isTemplated(claim, pod string) bool {
	return strings.HasSuffix(claim, "-"+pod) && !strings.HasPrefix(claim, pod+"-")
}
