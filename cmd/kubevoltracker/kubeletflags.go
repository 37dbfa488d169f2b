package main

import (
	"errors"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/collector"
)

// kubeletFlags say whether kubelets are asked how full volumes are, and how.
type kubeletFlags struct{ collector.KubeletOptions }

func (f *kubeletFlags) add(cmd *kingpin.CmdClause) {
	cmd.Flag("kubelet.interval", "How often each kubelet is asked how full its volumes are; 0s for never.").Default("5m").DurationVar(&f.Interval)
	cmd.Flag("kubelet.certificate-authority", "File with the authorities of the kubelets' certificates; default: those of the API server's.").StringVar(&f.CertificateAuthority)
	cmd.Flag("kubelet.insecure-tls", "Accept any certificate of a kubelet, as self-signed ones need. Who can answer in a node's place gets the tracker's credentials.").BoolVar(&f.InsecureTLS)
}

// open prepares to ask them; nil if they are not to be asked.
func (f *kubeletFlags) open(client *collector.Client) (*collector.Kubelets, error) {
	switch {
	case f.Interval < 0:
		return nil, usageError{errors.New("--kubelet.interval: it cannot be negative; 0s switches it off")}
	case f.InsecureTLS && f.CertificateAuthority != "":
		return nil, usageError{errors.New("--kubelet.insecure-tls: no certificate is looked at, so --kubelet.certificate-authority would do nothing; leave one out")}
	case f.Interval == 0:
		return nil, nil
	}
	kubelets, err := client.Kubelets(f.KubeletOptions)
	if err != nil {
		return nil, usageError{err}
	}
	return kubelets, nil
}
