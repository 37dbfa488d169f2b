package collector

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// node is a Node whose status has a port and addresses, each as type=address.
func node(port int32, list ...string) *corev1.Node {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	o.Status.DaemonEndpoints.KubeletEndpoint.Port = port
	for _, text := range list {
		kind, address, _ := strings.Cut(text, "=")
		o.Status.Addresses = append(o.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(kind), Address: address})
	}
	return o
}

// TestWhereAKubeletIs has what a Node may claim of itself, and where its kubelet is asked, or why it is not.
func TestWhereAKubeletIs(t *testing.T) {
	remote, here := "https://10.0.0.1:6443", "https://127.0.0.1:6443"
	for name, test := range map[string]struct {
		node  *corev1.Node
		api   string
		types string
		port  int
		want  string // with a blank: of the error
	}{
		"the internal IP":              {node(0, "Hostname=n1", "InternalIP=10.0.0.1", "ExternalIP=1.2.3.4"), remote, "", 10250, "10.0.0.1:10250"},
		"IPv6":                         {node(0, "InternalIP=fd00::1"), remote, "", 10250, "[fd00::1]:10250"},
		"another port than the Node's": {node(4711, "InternalIP=10.0.0.1"), remote, "", 10250, "10.0.0.1:10250"},
		"the Node's port":              {node(4711, "InternalIP=10.0.0.1"), remote, "", 0, "10.0.0.1:4711"},
		"a Node without a port":        {node(0, "InternalIP=10.0.0.1"), remote, "", 0, "10.0.0.1:10250"},
		"the first that will do":       {node(0, "InternalIP=127.0.0.1", "InternalIP=fe80::1", "InternalIP=10.0.0.1"), remote, "", 10250, "10.0.0.1:10250"},
		"the order of the types":       {node(0, "InternalIP=10.0.0.1", "ExternalIP=1.2.3.4"), remote, "ExternalIP, InternalIP", 10250, "1.2.3.4:10250"},
		"a name, if asked for":         {node(0, "Hostname=n1.example"), remote, "InternalIP,Hostname", 10250, "n1.example:10250"},
		"this machine's cluster":       {node(0, "InternalIP=127.0.0.1"), here, "", 10250, "127.0.0.1:10250"},

		"no address":                {node(0), remote, "", 10250, "node n1 has no address of the type InternalIP (--kubelet.address-types)"},
		"only a name":               {node(0, "Hostname=evil.example"), remote, "", 10250, "no address of the type InternalIP"},
		"a name as an IP":           {node(0, "InternalIP=evil.example"), remote, "", 10250, `InternalIP "evil.example" is no IP address`},
		"an IP with a port":         {node(0, "InternalIP=10.0.0.1:80"), remote, "", 10250, "is no IP address"},
		"a path":                    {node(0, "InternalIP=10.0.0.1/admin?"), remote, "", 10250, "is no IP address"},
		"a number":                  {node(0, "InternalIP=2130706433"), remote, "", 10250, "is no IP address"},
		"a user":                    {node(0, "Hostname=n1@evil.example"), remote, "Hostname", 10250, "is no name of a host"},
		"loopback":                  {node(0, "InternalIP=127.0.0.1"), remote, "", 10250, "is of this machine, and the API server is not"},
		"loopback as a Hostname":    {node(0, "Hostname=127.0.0.1"), remote, "Hostname", 10250, "is of this machine"},
		"loopback in IPv6":          {node(0, "InternalIP=::1"), remote, "", 10250, "is of this machine"},
		"loopback mapped into IPv6": {node(0, "InternalIP=::ffff:127.0.0.1"), remote, "", 10250, "is of this machine"},
		"the cloud's metadata":      {node(0, "InternalIP=169.254.169.254"), remote, "", 10250, "is no address of a node"},
		"the metadata, mapped":      {node(0, "InternalIP=::ffff:169.254.169.254"), here, "", 10250, "is no address of a node"},
		"link-local in IPv6":        {node(0, "InternalIP=fe80::1"), remote, "", 10250, "is no address of a node"},
		"a zone":                    {node(0, "InternalIP=fe80::1%eth0"), remote, "", 10250, "has a zone"},
		"unspecified":               {node(0, "InternalIP=0.0.0.0"), here, "", 10250, "is no address of a node"},
		"unspecified in IPv6":       {node(0, "InternalIP=::"), here, "", 10250, "is no address of a node"},
		"multicast":                 {node(0, "InternalIP=224.0.0.1"), remote, "", 10250, "is no address of a node"},
		"broadcast":                 {node(0, "InternalIP=255.255.255.255"), remote, "", 10250, "is no address of a node"},
		"a port that is none":       {node(70000, "InternalIP=10.0.0.1"), remote, "", 0, "node n1 has the port 70000, which is none"},
	} {
		t.Run(name, func(t *testing.T) {
			o := KubeletOptions{Port: test.port}
			if test.types != "" {
				o.AddressTypes = []string{test.types}
			}
			a, err := newAddresses(&o, &rest.Config{Host: test.api})
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.of(test.node)
			if err != nil {
				got = err.Error()
			}
			if failed := strings.Contains(test.want, " "); failed != (err != nil) || !strings.Contains(got, test.want) || !failed && got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhichAPIServersAreOnThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://localhost:6443": true, "https://[::1]:6443": true, "127.0.0.1:6443": true,
		"https://10.0.0.1:6443": false, "https://localhost.evil.example": false, "https://127.0.0.1.evil.example": false, "%": false,
	} {
		if got := isLocal(&rest.Config{Host: host}); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// TestANameOfThisMachine has a name that the administrator allows stand for an address that nodes do not have: the
// address is checked once it is known.
func TestANameOfThisMachine(t *testing.T) {
	a := &addresses{}
	for address, want := range map[string]string{
		"127.0.0.1:10250": "127.0.0.1 is of this machine", "169.254.169.254:10250": "no address of a node", "[fe80::1%eth0]:10250": "has a zone",
		"[::ffff:127.0.0.1]:10250": "is of this machine", "x": "not an ip:port", "10.0.0.1:10250": "",
	} {
		err := a.control("tcp", address, nil)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	server := serveKubelet(t, func(http.ResponseWriter, *http.Request) { t.Error("it is asked") })
	k := asked(server)
	*k.rules = *a
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	k.addresses["n1"] = "localhost:" + port
	if said := k.read(t.Context(), n1, believe); len(said.errs) != 1 || !strings.Contains(said.errs[0].Error(), "is of this machine") {
		t.Errorf("got %v", said.errs)
	}
}

func TestAddressOptions(t *testing.T) {
	for want, o := range map[string]KubeletOptions{
		"--kubelet.port":     {Port: 65536},
		"--kubelet.port: -1": {Port: -1},
		`--kubelet.address-types: "internalip" is none of InternalIP`: {AddressTypes: []string{"InternalIP", "internalip"}},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
