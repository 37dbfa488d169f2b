package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// kind is one of the images.
type kind struct {
	name, title, description string
	arches                   []string
	port                     string
	dataDir, dataVariable    string
	engine                   bool // with the C library and libchdb
}

var kinds = []kind{
	{
		name: "kubevoltracker", title: "kubevoltracker",
		description: "Tells who uses which storage of a Kubernetes cluster, since when, to Prometheus and ClickHouse",
		arches:      []string{"amd64", "arm64"},
		port:        "9790/tcp", dataDir: "/var/lib/kubevoltracker", dataVariable: "KUBEVOLTRACKER_DATA_DIR",
	},
	{
		name: "kubevoltracker-clickhouse", title: "kubevoltracker-clickhouse",
		description: "ClickHouse as a library behind its HTTP interface: the embedded catalog of kubevoltracker",
		arches:      []string{"amd64"}, // libraryPackage exists for no other
		port:        "8123/tcp", dataDir: "/var/lib/kubevoltracker-clickhouse", dataVariable: "KUBEVOLTRACKER_CLICKHOUSE_DATA_DIR",
		engine: true,
	},
}

func kindNamed(name string) (kind, error) {
	for _, k := range kinds {
		if k.name == name {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("there is no image %q: kubevoltracker and kubevoltracker-clickhouse", name)
}

// content is what an image consists of.
type content struct {
	layers []tree // the one that changes most often is the last
	sbom   []byte // CycloneDX, also in the image
}

// contents gathers the files of an image.
func (k kind) contents(s *source, arch string) (*content, error) {
	if !slices.Contains(k.arches, arch) {
		return nil, fmt.Errorf("%s cannot be built for %s, only for %s", k.name, arch, strings.Join(k.arches, ", "))
	}
	base, err := k.base(s)
	if err != nil {
		return nil, err
	}
	layers := []tree{base}
	packages := []debianPackage{caCertificates}
	if k.engine {
		library, err := libraryLayer(s)
		if err != nil {
			return nil, err
		}
		layers = append(layers, library)
		packages = []debianPackage{libc6}
	}
	program, err := s.program(k.name, arch)
	if err != nil {
		return nil, err
	}
	sbom, err := k.sbom(s, program, packages)
	if err != nil {
		return nil, err
	}
	top := tree{}
	top.copied("usr/local/bin/"+k.name, 0o755, program)
	top.file("usr/share/doc/"+k.name+"/sbom.cdx.json", 0o644, sbom)
	license, err := os.ReadFile(s.root + "/LICENSE")
	if err != nil {
		return nil, err
	}
	top.file("usr/share/doc/"+k.name+"/LICENSE", 0o644, license)
	return &content{layers: append(layers, top), sbom: sbom}, nil
}

// base returns the layer beneath the program: the user, directories to mount on, and what comes from Debian.
func (k kind) base(s *source) (tree, error) {
	t := tree{}
	t.file("etc/passwd", 0o644, []byte(fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nkubevoltracker:x:%d:%d:kubevoltracker:%s:/sbin/nologin\n", user, user, k.dataDir)))
	t.file("etc/group", 0o644, []byte(fmt.Sprintf("root:x:0:\nkubevoltracker:x:%d:\n", user)))
	t.directory("tmp", 0o1777, 0)
	for _, mountPoint := range []string{"proc", "sys", "dev"} {
		t.directory(mountPoint, 0o755, 0)
	}
	t.directory(strings.TrimPrefix(k.dataDir, "/"), 0o700, user)
	if k.engine {
		return t, addC(t, s)
	}
	return t, addCertificates(t, s)
}

// addCertificates adds the authorities' certificates, joined as update-ca-certificates does.
func addCertificates(t tree, s *source) error {
	const dir = "usr/share/ca-certificates/mozilla/"
	pem := map[string][]byte{}
	err := caCertificates.files(s.cache, func(h *tar.Header, r io.Reader) error {
		isCertificate := strings.HasPrefix(h.Name, dir) && strings.HasSuffix(h.Name, ".crt")
		if !isCertificate && !isCopyright(h.Name) {
			return nil
		}
		text, err := io.ReadAll(r)
		if isCertificate {
			pem[h.Name] = text
		} else {
			t.file(h.Name, 0o644, text)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(pem) == 0 {
		return errors.New("the package ca-certificates has no certificates in " + dir)
	}
	t.file("etc/ssl/certs/ca-certificates.crt", 0o644, joined(pem))
	return nil
}

// joined returns the texts in the order of their names.
func joined(texts map[string][]byte) []byte {
	names := []string{}
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	var all []byte
	for _, name := range names {
		all = append(all, texts[name]...)
	}
	return all
}

// addC adds the C library and its dynamic linker, without the tables for other character sets.
func addC(t tree, s *source) error {
	return libc6.files(s.cache, func(h *tar.Header, r io.Reader) error {
		library := strings.HasPrefix(h.Name, "lib/") || strings.HasPrefix(h.Name, "lib64/")
		if !library && !isCopyright(h.Name) {
			return nil
		}
		if h.Typeflag == tar.TypeSymlink {
			t.link(h.Name, h.Linkname)
			return nil
		}
		text, err := io.ReadAll(r)
		t.file(h.Name, h.Mode&0o755, text)
		return err
	})
}

func isCopyright(name string) bool {
	return strings.HasPrefix(name, "usr/share/doc/") && strings.HasSuffix(name, "/copyright")
}

// libraryLayer returns the layer of libchdb.so alone, which is nearly all of the image and changes rarely.
func libraryLayer(s *source) (tree, error) {
	if err := checkSHA256(s.library, librarySHA256); err != nil {
		return nil, fmt.Errorf("the ClickHouse library: %w; get %s %s by `make libchdb`, on linux/amd64", err, libraryPackage, libraryVersion)
	}
	t := tree{}
	t.copied("usr/local/lib/libchdb.so", 0o755, s.library)
	return t, nil
}
