// Command image builds the project's container images without a container engine, as OCI archives, and
// unpacks and pushes them. Two builds of one commit give the same digest.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/alecthomas/kingpin/v2"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run carries out the command in args.
func run(args []string) error {
	app := kingpin.New("image", "Builds, unpacks and pushes the images of kubevoltracker, without a container engine.")
	s := &source{}
	app.Flag("repository", "The checkout to build from.").Default("../..").StringVar(&s.root)
	app.Flag("cache", "Where downloads and compressed layers are kept; default: .cache/image of the checkout.").StringVar(&s.cache)
	app.Flag("libchdb", "The ClickHouse library; default: .cache/lib/libchdb.so of the checkout.").StringVar(&s.library)
	app.Flag("version", "Version of the images; default: git describe.").Envar("VERSION").StringVar(&s.version)
	app.Flag("revision", "Commit of the images; default: git rev-parse HEAD.").Envar("REVISION").StringVar(&s.revision)
	app.Flag("created", "Seconds since 1970 that the images are dated; default: when the commit was made.").Envar("SOURCE_DATE_EPOCH").Int64Var(&s.created)

	build := app.Command("build", "Build all images, as OCI archives with an SBOM beside each.")
	only := build.Flag("image", "Build this one alone.").String()
	out := build.Arg("dir", "Directory of the archives.").Required().String()
	tree := app.Command("tree", "Write the files of an image into an empty directory: for the Dockerfile.")
	treeImage := tree.Arg("image", "kubevoltracker or kubevoltracker-clickhouse.").Required().String()
	treeDir := tree.Arg("dir", "The directory.").Required().String()
	treeArch := tree.Flag("arch", "amd64 or arm64.").Default("amd64").String()
	unpackCommand := app.Command("unpack", "Unpack the files of an image into an empty directory.")
	unpackArchive := unpackCommand.Arg("archive", "The archive of one architecture.").Required().String()
	unpackDir := unpackCommand.Arg("dir", "The directory.").Required().String()
	pushCommand := app.Command("push", "Push the images to a registry, each as an index of its architectures.")
	pushDir := pushCommand.Arg("dir", "Directory of the archives.").Required().String()
	pushTo := pushCommand.Arg("repository", "Where to: registry.example/team.").Required().String()
	pushTag := pushCommand.Flag("tag", "Tag; default: the version of the images.").String()

	command, err := app.Parse(args)
	if err != nil {
		return fmt.Errorf("%w; see --help", err)
	}
	switch command {
	case build.FullCommand():
		if err := s.complete(); err != nil {
			return err
		}
		return buildAll(s, *only, *out, os.Stdout)
	case tree.FullCommand():
		if err := s.complete(); err != nil {
			return err
		}
		return writeTree(s, *treeImage, *treeArch, *treeDir)
	case unpackCommand.FullCommand():
		return unpack(*unpackArchive, *unpackDir)
	default:
		return push(*pushDir, *pushTo, *pushTag, os.Stdout)
	}
}

// complete finds what the flags leave open.
func (s *source) complete() error {
	var err error
	if s.root, err = filepath.Abs(s.root); err != nil {
		return err
	}
	if s.cache == "" {
		s.cache = filepath.Join(s.root, ".cache", "image")
	}
	if s.cache, err = filepath.Abs(s.cache); err != nil {
		return err
	}
	if s.library == "" {
		s.library = filepath.Join(s.root, ".cache", "lib", "libchdb.so")
	}
	if err := os.MkdirAll(s.cache, 0o755); err != nil {
		return err
	}
	return s.askGit()
}
