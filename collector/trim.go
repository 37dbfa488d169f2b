package collector

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
)

// Trim reduces an object, in place, to the fields that the policy keeps. An object that was
// requested as metadata alone has the kind PartialObjectMetadata; Trim sets its real kind.
func Trim(policy redact.Policy, kind fact.Kind, obj any) any {
	policy.Object(kind, obj)
	own(obj)
	return obj
}

// own copies the strings of an object that the inventory keeps: its own names. The decoder
// allocates each of them among the object's other small allocations; once those are garbage, a kept
// name alone would keep its page of memory. The namespace and the names of other objects are not
// copied, because the inventory shares the strings of those objects themselves.
func own(obj any) {
	var names []*string
	if o, ok := obj.(metav1.ObjectMetaAccessor); ok {
		if m, ok := o.GetObjectMeta().(*metav1.ObjectMeta); ok {
			names = append(names, (*string)(&m.UID), &m.Name)
		}
	}
	if o, ok := obj.(*corev1.PersistentVolume); ok && o.Spec.CSI != nil {
		names = append(names, &o.Spec.CSI.VolumeHandle)
	}
	var all strings.Builder
	n := 0
	for _, name := range names {
		n += len(*name)
	}
	all.Grow(n)
	for _, name := range names {
		all.WriteString(*name)
	}
	rest := all.String()
	for _, name := range names {
		*name, rest = rest[:len(*name)], rest[len(*name):]
	}
}
