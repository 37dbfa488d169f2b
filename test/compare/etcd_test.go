package compare

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// benchEtcd writes pods into the API server's etcd by its JSON gateway. An API server that shares two cores with all
// else accepts some hundred writes a second, because of admission, field management and encodings. In a large
// cluster there are several, and etcd tells each what the others have written. A watch sees no difference.
type benchEtcd struct {
	*harness.Etcd
	codec runtime.Encoder
}

func newBenchEtcd(t testing.TB, c *harness.LocalCluster) *benchEtcd {
	t.Helper()
	return &benchEtcd{harness.EtcdOf(t, c), scheme.Codecs.EncoderForVersion(
		protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), schema.GroupVersions{corev1.SchemeGroupVersion, storagev1.SchemeGroupVersion})}
}

func (e *benchEtcd) ask(path string, question map[string][]byte) error {
	body, err := json.Marshal(question) // bytes as base64, as the gateway wants them
	if err != nil {
		return err
	}
	return e.Call(path, string(body), nil)
}

func podKey(p *corev1.Pod) []byte { return []byte("/registry/pods/" + p.Namespace + "/" + p.Name) }

func (e *benchEtcd) put(p *corev1.Pod) error {
	p.ResourceVersion = ""
	var value bytes.Buffer
	if err := e.codec.Encode(p, &value); err != nil {
		return err
	}
	return e.ask("/v3/kv/put", map[string][]byte{"key": podKey(p), "value": value.Bytes()})
}

// changes ends n pods, and starts new ones of their names: the first write creates the pod, the second has it run.
func (e *benchEtcd) changes(c *benchCluster, n int) changes {
	return changes{
		pods: n,
		end: func(i int, sent func()) error {
			sent()
			return e.ask("/v3/kv/deleterange", map[string][]byte{"key": podKey(c.pods[i])})
		},
		prepare: func(i int) error {
			p := c.pods[i]
			p.UID, p.CreationTimestamp = uuid.NewUUID(), metav1.Now().Rfc3339Copy()
			p.Status = corev1.PodStatus{Phase: corev1.PodPending}
			return e.put(p)
		},
		start: func(i int, sent func()) error {
			c.pods[i].Status = benchPodStatus(i, time.Now())
			sent()
			return e.put(c.pods[i])
		},
	}
}
