package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Who is who in this cluster. The first four names are Kubernetes' own and come with
// roles; the roles of the last two are in objects/roles.yaml.
const (
	adminUser             = "kubernetes-admin"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
	kubeletUser           = "system:node:" + kubeletNode
	kwokUser              = "localcluster:kwok"
	storageUser           = "localcluster:storage"
)

// lifetime of certificates: longer than any cluster that is made for a demo or a test.
const lifetime = 10 * 365 * 24 * time.Hour

// pki makes certificates into a directory, and keeps those it finds there, so that a
// resumed cluster still trusts the credentials that were handed out before. client-go's
// util/cert makes no certificates for clients.
type pki struct{ dir string }

func (p pki) path(name string) string { return filepath.Join(p.dir, name) }

// authority signs: the root of one circle of trust.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// create makes everything that the components' flags name.
//
// etcd has an authority of its own: whoever reaches etcd is above all authorization, so
// no certificate for the API may open it.
func (p pki) create() error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	cluster, err := p.authority("ca")
	if err != nil {
		return err
	}
	store, err := p.authority("etcd-ca")
	if err != nil {
		return err
	}

	loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, c := range []struct {
		file   string
		signer authority
		cert   x509.Certificate
	}{
		// One certificate serves all of Kubernetes' ports; only their ports differ.
		{"server", cluster, x509.Certificate{
			Subject:     pkix.Name{CommonName: "kube-apiserver"},
			IPAddresses: append(loopback, net.ParseIP(kubernetesServiceIP)),
			DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			ExtKeyUsage: both,
		}},
		// etcd's is a client certificate too: etcd calls its own gRPC gateway.
		{"etcd", store, x509.Certificate{
			Subject:     pkix.Name{CommonName: "etcd"},
			IPAddresses: loopback,
			DNSNames:    []string{"localhost"},
			ExtKeyUsage: both,
		}},
		{"etcd-client", store, x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: client}},
		{"admin", cluster, x509.Certificate{Subject: pkix.Name{CommonName: adminUser, Organization: []string{"system:masters"}}, ExtKeyUsage: client}},
		{kubeControllerManager, cluster, x509.Certificate{Subject: pkix.Name{CommonName: controllerManagerUser}, ExtKeyUsage: client}},
		{kubeScheduler, cluster, x509.Certificate{Subject: pkix.Name{CommonName: schedulerUser}, ExtKeyUsage: client}},
		{kubelet, cluster, x509.Certificate{Subject: pkix.Name{CommonName: kubeletUser, Organization: []string{"system:nodes"}}, ExtKeyUsage: client}},
		{kwokController, cluster, x509.Certificate{Subject: pkix.Name{CommonName: kwokUser}, ExtKeyUsage: client}},
		{storageDriver, cluster, x509.Certificate{Subject: pkix.Name{CommonName: storageUser}, ExtKeyUsage: client}},
	} {
		if err := p.issue(c.file, c.signer, &c.cert); err != nil {
			return err
		}
	}
	return p.serviceAccountKey("sa")
}

// authority returns the authority called name, made now if there is none yet.
func (p pki) authority(name string) (authority, error) {
	err := p.issue(name, authority{}, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "localcluster-" + name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	})
	if err != nil {
		return authority{}, err
	}
	cert, err := readPEM(p.path(name+".crt"), x509.ParseCertificate)
	if err != nil {
		return authority{}, err
	}
	key, err := readPEM(p.path(name+".key"), x509.ParsePKCS8PrivateKey)
	if err != nil {
		return authority{}, err
	}
	return authority{cert, key.(crypto.Signer)}, nil
}

// issue writes name.crt and name.key, unless both are there. A zero signer means that
// the certificate signs itself.
func (p pki) issue(name string, signer authority, template *x509.Certificate) error {
	if exists(p.path(name+".crt")) && exists(p.path(name+".key")) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	now := time.Now()
	template.SerialNumber = serial
	template.NotBefore = now.Add(-time.Hour) // clocks that step back a little do no harm
	template.NotAfter = now.Add(lifetime)
	if template.KeyUsage == 0 {
		template.KeyUsage = x509.KeyUsageDigitalSignature
	}
	if signer.key == nil {
		signer = authority{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", name, err)
	}
	if err := p.writeKey(name+".key", key); err != nil {
		return err
	}
	return writePEM(p.path(name+".crt"), "CERTIFICATE", der)
}

// serviceAccountKey writes the pair that signs and checks service account tokens.
func (p pki) serviceAccountKey(name string) error {
	if exists(p.path(name+".pub")) && exists(p.path(name+".key")) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := p.writeKey(name+".key", key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return writePEM(p.path(name+".pub"), "PUBLIC KEY", der)
}

func (p pki) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(p.path(name), "PRIVATE KEY", der)
}

// kubeconfig writes, to path, how the holder of certificate name reaches server. The
// credentials are inside it, so that the file can be copied anywhere.
func (p pki) kubeconfig(path, name, server string) error {
	var data [3][]byte
	for i, file := range []string{"ca.crt", name + ".crt", name + ".key"} {
		var err error
		if data[i], err = os.ReadFile(p.path(file)); err != nil {
			return err
		}
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["localcluster"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: data[0]}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: data[1], ClientKeyData: data[2]}
	config.Contexts["localcluster"] = &clientcmdapi.Context{Cluster: "localcluster", AuthInfo: name}
	config.CurrentContext = "localcluster"
	return clientcmd.WriteToFile(*config, path)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func readPEM[T any](path string, parse func([]byte) (T, error)) (value T, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return value, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return value, fmt.Errorf("%s: no PEM block", path)
	}
	if value, err = parse(block.Bytes); err != nil {
		return value, fmt.Errorf("%s: %w", path, err)
	}
	return value, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
