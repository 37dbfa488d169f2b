package collector

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// defaultKubeletPort is the default of the kubelet's own setting, port.
const defaultKubeletPort = 10250

// addressTypes are the types that a Node's addresses may have.
var addressTypes = []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeInternalDNS, corev1.NodeHostName, corev1.NodeExternalIP, corev1.NodeExternalDNS}

// addresses are the rules for where a kubelet may be. Who has a node's credentials may write what
// he likes into the status of that Node.
type addresses struct {
	types    []corev1.NodeAddressType // that are taken, in this order
	port     int                      // 0 for the one in each Node
	loopback bool                     // are addresses of this machine, as the API server has one
}

// newAddresses returns the rules. api is the configuration of the API server's client.
func newAddresses(o *KubeletOptions, api *rest.Config) (addresses, error) {
	types, err := o.addressTypes()
	return addresses{types: types, port: o.Port, loopback: isLocal(api)}, err
}

// addressTypes returns the option AddressTypes as a list.
func (o *KubeletOptions) addressTypes() (types []corev1.NodeAddressType, err error) {
	for _, list := range o.AddressTypes {
		for text := range strings.SplitSeq(list, ",") {
			kind := corev1.NodeAddressType(strings.TrimSpace(text))
			if !slices.Contains(addressTypes, kind) {
				return nil, fmt.Errorf("--kubelet.address-types: %q is none of %s", text, joined(addressTypes))
			}
			types = append(types, kind)
		}
	}
	if len(types) == 0 {
		types = []corev1.NodeAddressType{corev1.NodeInternalIP}
	}
	return types, nil
}

// isLocal reports whether the API server is asked on a loopback address, as that of a cluster on
// this machine.
func isLocal(api *rest.Config) bool {
	u, _, err := rest.DefaultServerUrlFor(api)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// of returns the address, host:port, at which a node's kubelet serves.
func (a *addresses) of(o *corev1.Node) (string, error) {
	port := a.port
	if port == 0 {
		port = cmp.Or(int(o.Status.DaemonEndpoints.KubeletEndpoint.Port), defaultKubeletPort)
	}
	if port < 0 || port > 65535 {
		return "", fmt.Errorf("node %s has the port %d, which is none", o.Name, port)
	}
	var refused []error
	for _, kind := range a.types {
		for _, address := range o.Status.Addresses {
			if address.Type != kind {
				continue
			}
			host, err := a.host(kind, address.Address)
			if err == nil {
				return net.JoinHostPort(host, strconv.Itoa(port)), nil
			}
			refused = append(refused, fmt.Errorf("%s %.80q %w", kind, address.Address, err))
		}
	}
	if len(refused) > 0 {
		return "", fmt.Errorf("the kubelet of node %s is not asked, for its address: %w", o.Name, refused[0])
	}
	return "", fmt.Errorf("node %s has no address of the type %s (--kubelet.address-types)", o.Name, joined(a.types))
}

// host checks one address of a Node.
func (a *addresses) host(kind corev1.NodeAddressType, text string) (string, error) {
	ip, err := netip.ParseAddr(text)
	switch {
	case err == nil:
		ip = ip.Unmap()
		return ip.String(), a.check(ip)
	case kind == corev1.NodeInternalIP || kind == corev1.NodeExternalIP:
		return "", errors.New("is no IP address")
	case len(validation.IsDNS1123Subdomain(text)) > 0:
		return "", errors.New("is no name of a host")
	default:
		return text, nil
	}
}

// check refuses addresses that no kubelet of another machine has. 169.254.169.254, where clouds serve
// the machine's credentials, is link-local.
func (a *addresses) check(ip netip.Addr) error {
	ip = ip.Unmap()
	switch {
	case ip.Zone() != "":
		return errors.New("has a zone")
	case ip.IsLoopback() && !a.loopback:
		return errors.New("is of this machine, and the API server is not")
	case ip.IsUnspecified(), ip.IsMulticast(), ip.IsLinkLocalUnicast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return errors.New("is no address of a node")
	}
	return nil
}

// control checks the address that is about to be dialed: a name may stand for any.
func (a *addresses) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if err := a.check(to.Addr()); err != nil {
		return fmt.Errorf("%s %w", to.Addr(), err)
	}
	return nil
}

func joined(types []corev1.NodeAddressType) string {
	list := make([]string, len(types))
	for i, kind := range types {
		list[i] = string(kind)
	}
	return strings.Join(list, ", ")
}
