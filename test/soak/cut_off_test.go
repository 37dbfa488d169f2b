package soak

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// TestLogOfARequestThatIsCutOff lets a client go away while the API server carries out what it asked for, until one such
// request has been carried out: the audit log calls it a failure, and has no object of it. A scheduler that is killed
// does that in the other tests here.
func TestLogOfARequestThatIsCutOff(t *testing.T) {
	c, s := harness.Cluster(t), truth.Scope("cut-off")
	log, err := truth.OpenLog(filepath.Join(c.Dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: string(s)}}
	if _, err := c.Client.CoreV1().Namespaces().Create(background, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Client.CoreV1().Namespaces().Delete(background, namespace.Name, metav1.DeleteOptions{}) })
	claims := c.Client.CoreV1().PersistentVolumeClaims(namespace.Name)
	if _, err := claims.Create(background, harness.Namespace(namespace.Name).Claim("data", "none"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	took := 5 * time.Millisecond // the last request that was answered
	for try := 0; log.Adopted == 0; try++ {
		if try == 1000 {
			t.Fatal("each request that was cut off was either answered or not carried out")
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(background, took*time.Duration(try%20)/10)
		_, err := claims.Patch(ctx, "data", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"try":"%d"}}}`, try), metav1.PatchOptions{})
		cancel()
		if err == nil {
			took = time.Since(began)
			continue
		}
		if try%20 == 19 {
			took *= 2 // not even twice as long was enough
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			err := errors.Join(log.Read(), log.AgreesWith(c, s.Owns))
			if err == nil {
				break
			}
			if time.Now().After(deadline) { // by now the log has what became of the request
				t.Fatal(err)
			}
		}
	}
}
