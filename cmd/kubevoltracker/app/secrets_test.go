package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// attack is an object with a secret in it, the text hunter2, behind which each attack gets letters of its own: a failure
// names the attack.
type attack struct {
	name   string
	object any
}

func volumeWith(change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	o := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example", VolumeHandle: "vol-1", VolumeAttributes: map[string]string{"pool": "ssd"}},
	}}}
	change(o)
	return o
}

func classWith(change func(*storagev1.StorageClass)) *storagev1.StorageClass {
	o := &storagev1.StorageClass{Provisioner: "csi.example", Parameters: map[string]string{"type": "ssd"}}
	change(o)
	return o
}

func podWith(change func(*corev1.Pod)) *corev1.Pod {
	o := &corev1.Pod{
		Spec: corev1.PodSpec{
			Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{Name: "db", Image: "db:1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "db", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Hour))}},
		}}},
	}
	change(o)
	return o
}

func claimWith(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	o := &corev1.PersistentVolumeClaim{}
	change(o)
	return o
}

func attacks() []attack {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkYiJ9.hunter2"
	const pem = "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----"
	applied := func(o metav1.Object, annotation string) {
		o.SetAnnotations(map[string]string{annotation: `{"spec":{"csi":{"volumeAttributes":{"password":"hunter2"},"user":"hunter2"}}}`})
	}
	attribute := func(key, value string) any {
		return volumeWith(func(o *corev1.PersistentVolume) { o.Spec.CSI.VolumeAttributes[key] = value })
	}
	parameter := func(key, value string) any {
		return classWith(func(o *storagev1.StorageClass) { o.Parameters[key] = value })
	}
	option := func(text string) any {
		return volumeWith(func(o *corev1.PersistentVolume) { o.Spec.MountOptions = []string{text} })
	}
	command := func(words ...string) any {
		return podWith(func(o *corev1.Pod) { o.Spec.Containers[0].Command = words })
	}
	source := func(union corev1.PersistentVolumeSource) any {
		return volumeWith(func(o *corev1.PersistentVolume) { o.Spec.PersistentVolumeSource = union })
	}
	podSource := func(union corev1.VolumeSource) any {
		return podWith(func(o *corev1.Pod) {
			o.Spec.Volumes = append(o.Spec.Volumes, corev1.Volume{Name: "hunter2-of-secret", VolumeSource: union})
			if union.Secret == nil && union.Projected == nil {
				o.Spec.Volumes[1].Name = "more"
			}
			o.Spec.Containers[0].VolumeMounts = append(o.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: o.Spec.Volumes[1].Name, MountPath: "/more"})
		})
	}
	login := &corev1.SecretReference{Name: "hunter2", Namespace: "hunter2"}
	localLogin := &corev1.LocalObjectReference{Name: "hunter2"}
	return []attack{
		{"last-applied of kubectl", volumeWith(func(o *corev1.PersistentVolume) { applied(o, corev1.LastAppliedConfigAnnotation) })},
		{"last-applied of rancher", volumeWith(func(o *corev1.PersistentVolume) { applied(o, "objectset.rio.cattle.io/applied") })},
		{"last-applied of kapp", claimWith(func(o *corev1.PersistentVolumeClaim) { applied(o, "kapp.k14s.io/original") })},
		{"last-applied of banzai", classWith(func(o *storagev1.StorageClass) { applied(o, "banzaicloud.com/last-applied") })},
		{"last-applied of a pod", podWith(func(o *corev1.Pod) { applied(o, "example.com/last-applied") })},
		{"mount option password", option("password=hunter2")},
		{"mount option pass", option("pass=hunter2")},
		{"mount option credentials", option("credentials=/etc/hunter2")},
		{"mount options in one text", option("vers=3.0,username=db,password=hunter2,hunter2")},
		{"mount option of a class", classWith(func(o *storagev1.StorageClass) { o.MountOptions = []string{"password=hunter2"} })},
		{"mount options in an annotation", volumeWith(func(o *corev1.PersistentVolume) {
			o.Annotations = map[string]string{"volume.beta.kubernetes.io/mount-options": "ro,password=hunter2"}
		})},
		{"CSI attribute password", attribute("adminPassword", "hunter2")},
		{"CSI attribute key", attribute("userKey", "hunter2")},
		{"CSI attribute token", attribute("csi.storage.k8s.io/serviceAccount.tokens", "hunter2")},
		{"CSI attribute with a JWT", attribute("auth", jwt)},
		{"CSI attribute with PEM", attribute("tls", pem)},
		{"CSI attribute with a URL", attribute("source", "https://user:hunter2@git.example/repo")},
		{"CSI attribute with a connection string", attribute("connection", "AccountName=a;AccountKey=hunter2==")},
		{"CSI attribute with a signed URL", attribute("blob", "https://a.example/c?sv=1&sig=hunter2")},
		{"CSI handle with a URL", volumeWith(func(o *corev1.PersistentVolume) { o.Spec.CSI.VolumeHandle = "smb://user:hunter2@filer/share" })},
		{"class parameter password", parameter("restuserPassword", "hunter2")},
		{"class parameter key", parameter("access-key", "hunter2")},
		{"class parameter secret name", parameter("csi.storage.k8s.io/provisioner-secret-name", "hunter2")},
		{"class parameter secret namespace", parameter("csi.storage.k8s.io/node-stage-secret-namespace", "hunter2")},
		{"class parameter adminSecretName", parameter("adminSecretName", "hunter2")},
		{"class parameter URL", parameter("resturl", "https://user:hunter2@heketi.example")},
		{"flexVolume options", source(corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "a/b", SecretRef: login, Options: map[string]string{"password": "hunter2", "url": "//user:hunter2@filer"}}})},
		{"secrets of CSI", volumeWith(func(o *corev1.PersistentVolume) {
			o.Spec.CSI.NodeStageSecretRef, o.Spec.CSI.NodePublishSecretRef, o.Spec.CSI.ControllerExpandSecretRef = login, login, login
			o.Spec.CSI.NodeExpandSecretRef, o.Spec.CSI.ControllerPublishSecretRef = login, login
			o.Annotations = map[string]string{"volume.kubernetes.io/provisioner-deletion-secret-name": "hunter2"}
		})},
		{"secret of azureFile", source(corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "hunter2", SecretNamespace: new("hunter2"), ShareName: "share"}})},
		{"secret of cephfs", source(corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{SecretFile: "/etc/hunter2", SecretRef: login}})},
		{"secret of rbd", source(corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{Keyring: "/etc/hunter2", SecretRef: login}})},
		{"secret of iscsi", source(corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{IQN: "iqn", SecretRef: login}})},
		{"secret of scaleIO", source(corev1.PersistentVolumeSource{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{SecretRef: login}})},
		{"secret of storageos", source(corev1.PersistentVolumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{SecretRef: &corev1.ObjectReference{Name: "hunter2"}}})},
		{"secret of cinder", source(corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{SecretRef: login}})},
		{"secret of CSI in line", podSource(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example", NodePublishSecretRef: localLogin, VolumeAttributes: map[string]string{"secretProviderClass": "hunter2"}}})},
		{"secret of azureFile in line", podSource(corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "hunter2"}})},
		{"URL of gitRepo", podSource(corev1.VolumeSource{GitRepo: &corev1.GitRepoVolumeSource{Repository: "https://user:hunter2@git.example/repo"}})},
		{"volume of a Secret", podSource(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "hunter2"}})},
		{"projected Secret", podSource(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: *localLogin}}}}})},
		{"pull secret and environment", podWith(func(o *corev1.Pod) {
			o.Spec.ImagePullSecrets = []corev1.LocalObjectReference{*localLogin}
			o.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: *localLogin}}}
			o.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}
			o.Spec.Containers[0].Args = []string{"--password=hunter2"}
		})},
		{"command with flags", command("/bin/db --password=hunter2")},
		{"command with arguments", command("/bin/sh", "-c", "db --password hunter2")},
		{"command with an assignment", command("PASSWORD=hunter2 /bin/db")},
		{"termination message", podWith(func(o *corev1.Pod) {
			o.Status.Message = "hunter2"
			o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Message: "hunter2"}}
			o.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Message: "hunter2"}
		})},
		{"label", claimWith(func(o *corev1.PersistentVolumeClaim) { o.Labels = map[string]string{"db-password": "hunter2"} })},
		{"owner", claimWith(func(o *corev1.PersistentVolumeClaim) {
			o.Annotations = map[string]string{"owner": "https://user:hunter2@chat.example"}
		})},
		{"annotation that is kept", claimWith(func(o *corev1.PersistentVolumeClaim) {
			o.Annotations = map[string]string{"example.com/kept": "Bearer " + jwt}
		})},
		{"attach error", &storagev1.VolumeAttachment{
			Spec: storagev1.VolumeAttachmentSpec{Attacher: "csi.example", NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv-1")}},
			Status: storagev1.VolumeAttachmentStatus{
				AttachmentMetadata: map[string]string{"chap": "hunter2"}, AttachError: &storagev1.VolumeError{Message: "mount -o password=hunter2 //filer: refused"},
				DetachError: &storagev1.VolumeError{Message: `GET "https://user:hunter2@store.example/v1": 500`},
			},
		}},
	}
}

// numberedSecret is the secret of one attack.
func numberedSecret(i int) string { return fmt.Sprintf("hunter2%c%cq", 'a'+i/26, 'a'+i%26) }

// numbered returns an attack's object with its own secret in it.
func numbered(t *testing.T, object any, i int) any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	o := reflect.New(reflect.TypeOf(object).Elem()).Interface()
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("hunter2"), []byte(numberedSecret(i))), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// named gives each attack's object an identity.
func named(list []attack) map[string][]any {
	lists := map[string][]any{}
	for i, a := range list {
		meta := a.object.(metav1.ObjectMetaAccessor).GetObjectMeta()
		meta.SetName(fmt.Sprintf("attack-%d", i))
		meta.SetUID(types.UID(fmt.Sprintf("attack-uid-%d", i)))
		meta.SetResourceVersion("10")
		meta.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-time.Hour)))
		path := map[string]string{
			"PersistentVolume": "/api/v1/persistentvolumes", "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims", "Pod": "/api/v1/pods",
			"StorageClass": "/apis/storage.k8s.io/v1/storageclasses", "VolumeAttachment": "/apis/storage.k8s.io/v1/volumeattachments",
		}[string(kindOf("", a.object))]
		lists[path] = append(lists[path], a.object)
	}
	return lists
}

// TestSecretsAreKeptNowhere looks for the attacks' secrets in all that the tracker writes.
func TestSecretsAreKeptNowhere(t *testing.T) {
	list := attacks()
	for i, a := range list {
		list[i].object = numbered(t, a.object, i)
	}
	s := &apiServer{first: (&canaries{}).objects(), later: named(list)}
	said := saidEverywhere(t, s)
	for place, text := range said {
		for i, a := range list {
			if strings.Contains(text, numberedSecret(i)) {
				t.Errorf("%s: its secret is in %s", a.name, place)
			}
		}
	}
	if !strings.Contains(said["table volume_sources"], "https://***@git.example/repo") || !strings.Contains(said["table containers"], "/bin/db") {
		t.Error("the attacks' objects are not in the catalog at all")
	}
}

// TestWhatAnOlderTrackerKeptIsRedacted starts on the journal of a tracker that kept all fields: its rows are not written
// yet, and its objects do not change.
func TestWhatAnOlderTrackerKeptIsRedacted(t *testing.T) {
	list := attacks()
	for i, a := range list {
		list[i].object = numbered(t, a.object, i)
	}
	s := &apiServer{first: (&canaries{}).objects(), later: map[string][]any{}}
	out := &logged{}
	o := canaryOptions(t, s, out, harness.StartClickHouse(t).URL("kubevoltracker"))
	o.Cluster = "older"
	olderJournal(t, o.DataDir, named(list))
	olderCatalog(t, o.Catalog, o.DataDir)
	began := time.Now()
	if text := journalText(t, o.DataDir); !strings.Contains(text, numberedSecret(0)) {
		t.Fatal("the older journal has no secrets")
	}
	r := runApp(t, o)
	r.expectLine(t, "kubevoltracker_journal_facts 0")
	r.expectLine(t, "kubevoltracker_catalog_up 1")
	said := map[string]string{}
	said["metrics"], _ = r.get("/metrics")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	said["log"], said["the journal's records"] = out.String(), journalRecords(t, o.DataDir)
	purge(t, o.Catalog.URL, began)
	for _, table := range []string{"objects", "volumes", "volume_sources", "claims", "storage_classes", "pods", "containers", "mounts", "attachments", "changes", "catalog_rejects"} {
		said["table "+table] = post(t, o.Catalog.URL, "SELECT * FROM "+table+" FORMAT JSONEachRow") // without FINAL
	}
	for place, text := range said {
		for i, a := range list {
			if strings.Contains(text, numberedSecret(i)) {
				t.Errorf("%s: its secret is in %s", a.name, place)
			}
		}
	}
	for _, table := range slices.Sorted(maps.Keys(said)) {
		if strings.HasPrefix(table, "table vol") && !strings.Contains(said[table], "attack-") && !strings.Contains(said[table], "csi.example") {
			t.Errorf("%s has none of the older tracker's objects", table)
		}
	}
	if n := ask(t, o.Catalog, "SELECT count() FROM volumes FINAL WHERE source_id NOT IN (SELECT id FROM volume_sources)"); n != "0" {
		t.Errorf("%s volumes name a source that the catalog lacks", n)
	}
}

// olderCatalog writes the rows of an older tracker's journal as that tracker did.
func olderCatalog(t *testing.T, o catalog.Options, dir string) {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(copied, "journal"), Logger: log.NewNopLogger()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = ingest.NewWriter(c, ingest.WriterOptions{Journal: j, Cluster: "older", Document: inventory.Document, Grace: time.Minute}).Run(ended)
	if err := errors.Join(err, j.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if text := post(t, o.URL, "SELECT * FROM objects FORMAT JSONEachRow"); !strings.Contains(text, numberedSecret(0)) {
		t.Fatal("the older catalog has no secrets")
	}
}

// purge sends the statements of docs/security.md.
func purge(t *testing.T, url string, began time.Time) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```sql\n")
	text, _, _ = strings.Cut(text, "```")
	for statement := range strings.SplitSeq(strings.TrimSpace(text), ";\n") {
		post(t, url, strings.ReplaceAll(strings.TrimSuffix(statement, ";"), "2026-01-01 00:00:00", began.UTC().Format("2006-01-02 15:04:05.000000")))
	}
}

// post sends a statement to ClickHouse.
func post(t *testing.T, catalogURL, statement string) string {
	t.Helper()
	address, database, _ := strings.Cut(strings.TrimPrefix(catalogURL, "http://"+catalogtest.User+"@"), "/")
	answer, err := http.Post("http://"+catalogtest.User+":"+catalogtest.Password+"@"+address+"/?database="+database, "text/plain", strings.NewReader(statement))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", statement, answer.Status, body, err)
	}
	return string(body)
}

// olderJournal records objects as they are, as a tracker did that redacted nothing.
func olderJournal(t *testing.T, dir string, lists map[string][]any) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(dir, "journal"), Logger: log.NewNopLogger()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Cluster: "older"})
	if err != nil {
		t.Fatal(err)
	}
	inv := inventory.New()
	for _, objects := range lists {
		for _, o := range objects {
			if err := inv.Set(o, inventory.Live(fact.At(time.Now()))); err != nil {
				t.Fatal(err)
			}
		}
	}
	var u fact.Update
	inv.Take(&u)
	for _, kind := range fact.Kinds() {
		u.Positions = append(u.Positions, fact.Position{Kind: kind, ResourceVersion: "20", At: fact.At(time.Now())})
	}
	r.Record(&u)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ended); err != nil {
		t.Fatal(err)
	}
	// That tracker did not say by which rules it redacted.
	if err := j.Commit(t.Context(), journal.Batch{Meta: map[string][]byte{"redacted": nil}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
