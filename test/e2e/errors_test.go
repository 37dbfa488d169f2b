package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestMistakesAreOneLine makes mistakes of each kind, a wrong value for each type of flag among them: each ends with an
// exit code and one line that names the mistake.
func TestMistakesAreOneLine(t *testing.T) {
	t.Parallel()
	kubeconfig := harness.Cluster(t).Kubeconfig
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	server := strings.Split(strings.SplitAfter(string(config), "server: ")[1], "\n")[0]
	absent := write("absent", strings.Replace(string(config), server, "https://"+closed.Addr().String(), 1))
	stranger := write("stranger", `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
		"clusters": [{"name": "c", "cluster": {"server": "`+server+`", "insecure-skip-tls-verify": true}}],
		"users": [{"name": "u", "user": {"token": "wrong"}}]}`)
	locked := harness.StartClickHouse(t, "--reader-password-file="+write("password", "secret\n")).Address

	run := func(args ...string) []string { return harness.RunArgs(t, args...) }
	on := func(kubeconfig string, args ...string) []string {
		return run(append(args, "--kube.kubeconfig="+kubeconfig)...)
	}
	for name, test := range map[string]struct {
		args []string
		code int
		want []string // the line contains these
	}{
		"no API server":                   {on(absent), 1, []string{"no API server answers at", closed.Addr().String(), "refused"}},
		"no kubeconfig":                   {on(filepath.Join(dir, "nowhere")), 2, []string{"--kube.kubeconfig: ", "nowhere", "does not exist"}},
		"no kubeconfig to generate load":  {[]string{"loadgen", "--kube.kubeconfig=/nowhere"}, 2, []string{"--kube.kubeconfig: ", "/nowhere"}},
		"broken kubeconfig":               {on(write("broken", "{broken")), 1, []string{"kubeconfig", "broken"}},
		"unknown context":                 {on(kubeconfig, "--kube.context=prod"), 1, []string{"kubeconfig", "prod"}},
		"unknown credentials":             {on(stranger), 1, []string{"does not accept the credentials"}},
		"busy port":                       {on(kubeconfig, "--web.listen-address="+busy.Addr().String()), 1, []string{"--web.listen-address", busy.Addr().String(), "in use"}},
		"busy ClickHouse port":            {on(kubeconfig, "--catalog.embedded-listen-address="+busy.Addr().String()), 1, []string{busy.Addr().String(), "in use"}},
		"unwritable directory":            {on(kubeconfig, "--data-dir=/dev/null/data"), 1, []string{"/dev/null/data"}},
		"refused login":                   {on(kubeconfig, "--catalog.url=http://"+locked+"/kubevoltracker"), 1, []string{"login", "password"}},
		"report, refused login":           {[]string{"report", "mounts", "--catalog.url=http://" + locked}, 1, []string{"login"}},
		"report, no ClickHouse":           {[]string{"report", "idle", "--catalog.url=http://" + closed.Addr().String()}, 1, []string{closed.Addr().String()}},
		"sql, no tables yet":              {[]string{"sql", "SELEC 1", "--catalog.url=" + harness.StartClickHouse(t).URL("kubevoltracker")}, 1, []string{"schema migrate"}},
		"unknown flag":                    {run("--frobnicate"), 2, []string{"--frobnicate"}},
		"unknown level":                   {run("--log.level=loud"), 2, []string{"--log.level", "loud"}},
		"unknown command":                 {[]string{"walk"}, 2, []string{"walk"}},
		"unknown report":                  {[]string{"report", "weather"}, 2, []string{"weather"}},
		"unknown output":                  {[]string{"report", "mounts", "-o", "xml"}, 2, []string{"--output", "xml"}},
		"exclusive flags":                 {[]string{"report", "mounts", "--running", "--ended"}, 2, []string{"--running", "--ended"}},
		"bad duration":                    {[]string{"report", "idle", "--min-idle=soon"}, 2, []string{"--min-idle", "soon"}},
		"families of what is not watched": {on(kubeconfig, "--metrics.kube-state-metrics=volumeattachments", "--no-collector.attachments"), 2, []string{"--metrics.kube-state-metrics=volumeattachments", "--collector.attachments"}},
		"unknown catalog scheme":          {on(kubeconfig, "--catalog.url=mysql://localhost"), 2, []string{"--catalog.url", "mysql"}},
		"password in the URL":             {on(kubeconfig, "--catalog.url=http://me:secret@localhost"), 2, []string{"--catalog.password-file"}},
		"no password file":                {[]string{"report", "mounts", "--catalog.url=http://localhost", "--catalog.password-file=/nowhere"}, 2, []string{"--catalog.password-file", "/nowhere"}},
		"no web config":                   {on(kubeconfig, "--web.config.file=/nowhere"), 2, []string{"--web.config.file", "/nowhere"}},
		"bad namespace list":              {run("--metrics.namespace-allowlist=shop", "--metrics.namespace-allowlist=lab("), 2, []string{"--metrics.namespace-allowlist", "lab("}},
		"bad class list":                  {run("--metrics.storageclass-denylist=*"), 2, []string{"--metrics.storageclass-denylist", `"*"`}},
		"bad label":                       {run("--metrics.claim-labels=team,my team"), 2, []string{"--metrics.claim-labels", "my team"}},
		"negative interval":               {on(kubeconfig, "--kubelet.interval=-1s"), 2, []string{"--kubelet.interval", "negative"}},
		"no kubelets' authority":          {on(kubeconfig, "--kubelet.interval=1m", "--kubelet.certificate-authority=/nowhere"), 2, []string{"--kubelet.certificate-authority", "/nowhere"}},
		"authority for nothing":           {on(kubeconfig, "--kubelet.insecure-tls", "--kubelet.certificate-authority=/nowhere"), 2, []string{"--kubelet.insecure-tls", "--kubelet.certificate-authority"}},
		"kubelets of any name":            {on(stranger, "--kubelet.interval=5m"), 2, []string{"--kubelet.certificate-authority", "--kubelet.insecure-tls"}},
		"no such addresses":               {on(kubeconfig, "--kubelet.address-types=InternalIP,Any"), 2, []string{"--kubelet.address-types", "Any", "ExternalDNS"}},
		"two tokens":                      {on(kubeconfig, "--kubelet.token-file=/nowhere", "--kubelet.service-account=me"), 2, []string{"--kubelet.token-file", "--kubelet.service-account"}},
		"bad number of volumes":           {run("--metrics.max-volumes=-1"), 2, []string{`--metrics.max-volumes: "-1" is not a whole number from 0`}},
		"bad port":                        {run("--kubelet.port=abc"), 2, []string{`--kubelet.port: "abc" is not a whole number from 0`, "(see kubevoltracker run --help)"}},
		"bad size":                        {run("--journal.max-bytes=foo"), 2, []string{`--journal.max-bytes: "foo" is not a size such as 4GiB`}},
		"bad interval of a watch":         {[]string{"report", "idle", "--watch=1"}, 2, []string{`--watch: "1" is not a duration such as 10s`, "(see kubevoltracker report idle --help)"}},
		"bad limit":                       {[]string{"report", "idle", "--limit=-1"}, 2, []string{`--limit: "-1" is not a whole number from 0`}},
		"bad parameter":                   {[]string{"sql", "--param=a", "SELECT 1"}, 2, []string{`--param: "a" is not NAME=VALUE`}},
		"bad rate":                        {[]string{"loadgen", "--rate=abc"}, 2, []string{`--rate: "abc" is not a number`}},
		"columns of SQL":                  {[]string{"report", "idle", "--sql", "--columns=volume"}, 2, []string{"--columns", "--sql"}},
		"no program":                      {on(kubeconfig, "--catalog.embedded-binary=/nowhere/clickhouse"), 1, []string{"/nowhere/clickhouse"}},
		"no library":                      {on(kubeconfig, "--catalog.embedded-library=/nowhere/libchdb.so"), 1, []string{"/nowhere/libchdb.so", "libchdb"}},
		"lease without a home":            {on(kubeconfig, "--leader-election", "--leader-election.namespace=nowhere", "--catalog.url=http://"+closed.Addr().String()), 1, []string{"--leader-election.namespace", "nowhere"}},
		"election of one":                 {on(kubeconfig, "--leader-election"), 2, []string{"--leader-election", "--catalog.url"}},
	} {
		t.Run(name, func(t *testing.T) { expectMistake(t, test.args, test.code, test.want...) })
	}
}

// expectMistake runs the tracker, and checks its exit code and that it prints one line with the wanted parts and without
// the password.
func expectMistake(t *testing.T, args []string, code int, want ...string) {
	t.Helper()
	cmd := exec.Command(harness.Program(t, "kubevoltracker"), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timeout := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timeout.Stop()
	_ = cmd.Wait()
	text := strings.TrimSpace(stderr.String())
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	if strings.Count(text, "\n") > 0 || !strings.HasPrefix(text, "kubevoltracker: ") {
		t.Errorf("not one line:\n%s", text)
	}
	if strings.Contains(text, "secret") {
		t.Errorf("the password is shown: %s", text)
	}
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
}

func TestVersionAndHelpExitWithZero(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"--version"}, {"--help"}, {"run", "--help"}, {"schema", "print"}} {
		out, err := exec.Command(harness.Program(t, "kubevoltracker"), args...).Output()
		if err != nil || len(out) == 0 {
			t.Errorf("%v: %v, %d bytes", args, err, len(out))
		}
	}
}

func TestFlagsReadTheEnvironment(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"KUBEVOLTRACKER_KUBE_KUBECONFIG=/nowhere/kubeconfig": "KUBEVOLTRACKER_KUBE_KUBECONFIG: path '/nowhere/kubeconfig' does not exist",
		"KUBEVOLTRACKER_JOURNAL_MAX_BYTES=x":                 `KUBEVOLTRACKER_JOURNAL_MAX_BYTES: "x" is not a size such as 4GiB`,
		"KUBECONFIG=/nowhere/kubeconfig":                     "no cluster is configured in /nowhere/kubeconfig: name a kubeconfig file by --kube.kubeconfig or KUBECONFIG",
	} {
		cmd := exec.Command(harness.Program(t, "kubevoltracker"), harness.RunArgs(t)...)
		cmd.Env = append(os.Environ(), variable)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%s: exit code %d: %s", variable, code, out)
		}
	}
}
