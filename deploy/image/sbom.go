package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom returns the bill of materials of an image, in CycloneDX's JSON: the Go modules that the program says it
// was built of, Debian's packages, and libchdb.
func (k kind) sbom(s *source, program string, packages []debianPackage) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read what %s was built of: %w", program, err)
	}
	components := []cdx.Component{{
		Type: cdx.ComponentTypeLibrary, Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, cdx.Component{
			Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version,
			PackageURL: "pkg:golang/" + module.Path + "@" + url.PathEscape(module.Version),
		})
	}
	for _, p := range packages {
		components = append(components, cdx.Component{
			Type: cdx.ComponentTypeLibrary, Name: p.name, Version: p.version,
			PackageURL: fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=debian-12", p.name, url.QueryEscape(p.version), p.arch),
			Hashes:     sha256Of(p.sha256),
		})
	}
	if k.engine {
		components = append(components, cdx.Component{
			Type: cdx.ComponentTypeLibrary, Name: libraryPackage, Version: libraryVersion,
			PackageURL: "pkg:npm/" + strings.Replace(libraryPackage, "@", "%40", 1) + "@" + libraryVersion,
			Hashes:     sha256Of(librarySHA256), // of libchdb.so in it
		})
	}
	for i := range components {
		components[i].BOMRef = components[i].PackageURL
	}
	slices.SortFunc(components, func(a, b cdx.Component) int { return strings.Compare(a.PackageURL, b.PackageURL) })

	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: time.Unix(s.created, 0).UTC().Format(time.RFC3339),
		Component: &cdx.Component{Type: cdx.ComponentTypeContainer, BOMRef: k.name, Name: k.name, Version: s.version, Description: k.description},
	}
	bom.Components = &components
	var text bytes.Buffer
	err = cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return text.Bytes(), err
}

func sha256Of(sum string) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
}
