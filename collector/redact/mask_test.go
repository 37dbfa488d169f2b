package redact

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

const (
	webToken = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkYiJ9.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pemBlock = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
)

func TestTextMasksSecretsByTheirForm(t *testing.T) {
	for text, want := range map[string]string{
		// Userinfo of URLs, anywhere.
		"https://user:pass@git.example/repo":                "https://***@git.example/repo",
		"https://ghp_0123@git.example/repo":                 "https://***@git.example/repo",
		"https://user:p@ss@git.example":                     "https://***@git.example",
		"https://user:pa/ss@git.example/repo":               "https://***@git.example/repo",
		"//user:pass@filer/share":                           "//***@filer/share",
		"from https://a:b@c to https://d:e@f":               "from https://***@c to https://***@f",
		"failed: rpc error: GET \"https://a:b@c/d\" failed": "failed: rpc error: GET \"https://***@c/d\" failed",
		// Headers.
		"Authorization: Bearer abcdefghijklmnop": "Authorization: Bearer ***",
		"Basic dXNlcjpwYXNzd29yZDEyMw==":         "Basic ***",
		"basic authentication failed":            "basic authentication failed",
		"--token\thunter2":                       "--token\t***",
		"dbpass=hunter2":                         "dbpass=***",
		"bypass=1":                               "bypass=1",
		// JSON Web Tokens and PEM blocks.
		webToken:                             "***",
		"Bearer " + webToken + " is expired": "Bearer *** is expired",
		"eyJhbGciOiJub25lIn0.e30.":           "***",
		pemBlock:                             "***",
		"before " + pemBlock + " after":      "before *** after",
		"-----BEGIN CERTIFICATE-----\ncut":   "***",
		// What a text assigns to a key that names a secret; nothing shows where a password ends.
		"password=a,b c":        "password=***",
		"pass=x":                "pass=***",
		"PASSWD=x":              "PASSWD=***",
		"credentials=/etc/cifs": "credentials=***",
		"vers=3.0,username=db,password=x,noatime": "vers=3.0,username=db,password=***",
		"/bin/db --admin-password=x":              "/bin/db --admin-password=***",
		"/bin/db --token x":                       "/bin/db --token ***",
		`{"user":"db","apiKey":"x"}`:              `{"user":"db","apiKey":***`,
		"client_secret: x":                        "client_secret:***",
		"AccountName=a;AccountKey=x==":            "AccountName=a;AccountKey=***",
		"https://a.blob/c?sv=1&sig=x":             "https://a.blob/c?sv=1&sig=***",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is masked as %q, not as %q", text, got, want)
		}
		if again := Text(want); again != want {
			t.Errorf("%q is masked once more, as %q", want, again)
		}
	}
}

func TestTextKeepsWhatIsNoSecret(t *testing.T) {
	for _, text := range []string{
		"", "=", "a", "filer.example:/exports/data", "10.0.0.1:6789,10.0.0.2:6789", "iqn.2001-04.com.example:storage.disk2", "registry.example:5000/db:1.2@sha256:0123456789abcdef",
		"https://git.example:8080/repo@v1", "https://git.example/repo@v1", "oci://registry.example/a@sha256:01", "projects/p/locations/l/keyRings/r/disks/d", "arn:aws:kms:eu-west-1:1:key/0123",
		"vers=3.0", "noatime", "bypass=1", "pool/image@snap", "admin@fsid.fs=/volumes", "keyring is missing", "no token", "eyJust a text", "2026-01-01T00:00:00Z", "subvolume=a:b",
		"rpc error: code = NotFound desc = volume vol-1 not found",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q is masked as %q", text, got)
		}
	}
}

func TestParametersAreMaskedByTheirKeys(t *testing.T) {
	got := parameters(map[string]string{
		"type": "gp3", "csi.storage.k8s.io/fstype": "ext4", "storage.kubernetes.io/csiProvisionerIdentity": "1-2-csi.example", "server": "filer", "compass": "north", "signal": "9",
		"adminPassword": "x", "user-token": "x", "KEY": "x", "smb/credentials": "x", "apikey": "x", "clientSecret": "x", "pass": "x", "db_pass": "x", "passphrase": "x", "sig": "x", "emptyToken": "",
		"csi.storage.k8s.io/serviceAccount.tokens": "{}", "secrets.example/enabled": "true",
		"source": "https://user:pass@git.example", "cert": pemBlock, "jwt": webToken,
		"csi.storage.k8s.io/provisioner-secret-name": "login", "csi.storage.k8s.io/provisioner-secret-namespace": "vault", "adminSecretName": "login", "secretNamespace": "vault", "secretRef": "login",
		"https://user:pass@git.example": "as a key",
	})
	want := map[string]string{
		"type": "gp3", "csi.storage.k8s.io/fstype": "ext4", "storage.kubernetes.io/csiProvisionerIdentity": "1-2-csi.example", "server": "filer", "compass": "north", "signal": "9",
		"adminPassword": Mask, "user-token": Mask, "KEY": Mask, "smb/credentials": Mask, "apikey": Mask, "clientSecret": Mask, "pass": Mask, "db_pass": Mask, "passphrase": Mask, "sig": Mask, "emptyToken": "",
		"csi.storage.k8s.io/serviceAccount.tokens": Mask, "secrets.example/enabled": "true",
		"source": "https://***@git.example", "cert": Mask, "jwt": Mask,
	}
	if !maps.Equal(got, want) {
		for key := range got {
			if got[key] != want[key] {
				t.Errorf("%s is %q, not %q", key, got[key], want[key])
			}
		}
		t.Errorf("%d keys are left, not %d", len(got), len(want))
	}
}

func TestOfACommandTheProgramIsKept(t *testing.T) {
	for first, want := range map[string]string{
		"/bin/db": "/bin/db", "/bin/db --password=x": "/bin/db", "/bin/sh\t-c x": "/bin/sh", "PASSWORD=x /bin/db": "", "--token=x": "", "": "",
		"https://user:pass@git.example/run": "https://***@git.example/run",
	} {
		if got := Program(first); got != want {
			t.Errorf("of %q %q is kept, not %q", first, got, want)
		}
	}
}

// TestLongTextsTakeNoLongerPerByte masks texts of a megabyte. One that took quadratic time would take minutes.
func TestLongTextsTakeNoLongerPerByte(t *testing.T) {
	const length = 1 << 20
	for _, run := range []string{" ", "\"", "' ", "-", "-a ", "a=", "a:", "/", "//", "eyJ", "-----BEGIN", "basic "} {
		long := strings.Repeat(run, length/len(run))
		if got := withoutSecrets(long + "password=x"); strings.Contains(got, "=x") {
			t.Errorf("the password behind a run of %q is not masked", run)
		}
	}
	word := "-" + strings.Repeat("a", length/2)
	if got, want := withoutSecrets(word+strings.Repeat(" ", length/2)+"token: x"), "token:"+Mask; !strings.HasSuffix(got, want) {
		t.Errorf("got %q at the end, want %q", got[len(got)-20:], want)
	}
}

// TestLastWordIsWhatPrecedes compares the word that is found byte by byte with the one that is found by looking back.
func TestLastWordIsWhatPrecedes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		text := make([]byte, random.IntN(20))
		for i := range text {
			text[i] = `ab0-_./:="' 	,`[random.IntN(14)]
		}
		var word lastWord
		for i := range text {
			word.add(string(text), i)
			want := wordBefore.FindStringSubmatch(string(text[:i+1]))[1]
			if got := string(text[word.start:word.end]); got != want {
				t.Fatalf("the last word of %q is %q, want %q", text[:i+1], got, want)
			}
		}
	}
}

var wordBefore = regexp.MustCompile(`([\w.-]*)["' ]*$`)
