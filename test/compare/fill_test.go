package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// apiObject is an object that can be written to etcd.
type apiObject interface {
	runtime.Object
	metav1.Object
}

// fillAtOnce is how many objects one transaction writes: etcd takes 128 at most, and a volume has up to four.
const fillAtOnce = 30

// fill writes n volumes and claims into etcd, and three pods for two of them. An API server on two cores would take more
// than ten minutes for as many.
func (b *benchCluster) fill(t testing.TB, n int) {
	t.Helper()
	began := time.Now()
	for i := 0; i < n; i += 100 {
		b.addNamespace(t, benchNamespace(i))
	}
	b.etcd.putAll(t, n, func(i int) map[string]apiObject { return b.allOf(i, n) })
	t.Logf("%d volumes and claims, and %d pods are written; it took %s", n, n+n/2, time.Since(began).Round(time.Second))
}

// attach writes an attachment for each of n volumes into etcd.
func (b *benchCluster) attach(t testing.TB, n int) {
	t.Helper()
	b.etcd.putAll(t, n, func(i int) map[string]apiObject {
		a := benchAttachment(i)
		return map[string]apiObject{"volumeattachments/" + a.Name: a}
	})
}

// awaitCaches waits until the API server's caches have n volumes, claims and attachments. The objects of one transaction
// have one resource version, so a list amid them would lack some, and a watch from there would not show them either.
func (b *benchCluster) awaitCaches(t testing.TB, n int) {
	t.Helper()
	cached := metav1.ListOptions{ResourceVersion: "0"}
	for kind, count := range map[string]func() (int, error){
		"volumes": func() (int, error) {
			list, err := b.client.CoreV1().PersistentVolumes().List(background, cached)
			return len(list.Items), err
		},
		"claims": func() (int, error) {
			list, err := b.client.CoreV1().PersistentVolumeClaims("").List(background, cached)
			return len(list.Items), err
		},
		"attachments": func() (int, error) {
			list, err := b.client.StorageV1().VolumeAttachments().List(background, cached)
			return len(list.Items), err
		},
	} {
		harness.Eventually(t, "the API server's cache has all "+kind, func() error {
			if found, err := count(); err != nil || found != n {
				return fmt.Errorf("%d of %d: %w", found, n, err)
			}
			return nil
		})
	}
}

// putAll writes the objects of 0 to n-1, by their keys in etcd.
func (e *benchEtcd) putAll(t testing.TB, n int, of func(i int) map[string]apiObject) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for from := 0; from < n; from += fillAtOnce {
		group.Go(func() error {
			var puts []map[string]any
			for i := from; i < min(from+fillAtOnce, n); i++ {
				for key, object := range of(i) {
					put, err := e.putOf(key, object)
					if err != nil {
						return err
					}
					puts = append(puts, put)
				}
			}
			body, err := json.Marshal(map[string]any{"success": puts})
			if err != nil {
				return err
			}
			return e.Call("/v3/kv/txn", string(body), nil)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// allOf returns claim and volume i of n, and the pods that mount them, by their keys in etcd: one pod, and another one
// for the volumes of the second half.
func (b *benchCluster) allOf(i, n int) map[string]apiObject {
	claim := benchClaim(i)
	claim.UID = uuid.NewUUID()
	objects := map[string]apiObject{
		"persistentvolumeclaims/" + claim.Namespace + "/" + claim.Name: claim,
		"persistentvolumes/" + benchVolumeName(i):                      benchVolume(i, claim),
	}
	addPod := func(number int) {
		p := benchPod(i, b.owners[claim.Namespace])
		p.Name = fmt.Sprint("db-", number)
		objects["pods/"+p.Namespace+"/"+p.Name] = p
	}
	addPod(i)
	if i >= n-n/2 {
		addPod(n + i)
	}
	return objects
}

// putOf is the operation of a transaction that writes an object.
func (e *benchEtcd) putOf(key string, object apiObject) (map[string]any, error) {
	if object.GetUID() == "" {
		object.SetUID(uuid.NewUUID())
	}
	object.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	var value bytes.Buffer
	if err := e.codec.Encode(object, &value); err != nil {
		return nil, err
	}
	return map[string]any{"requestPut": map[string][]byte{"key": []byte("/registry/" + key), "value": value.Bytes()}}, nil
}
