package main

// debianPackage is a package of Debian, pinned. To update one: `apt-cache policy NAME`, `apt-get download NAME`,
// `sha256sum` of the file.
type debianPackage struct {
	name, version, arch, sha256 string
}

var (
	caCertificates = debianPackage{
		name: "ca-certificates", version: "20230311+deb12u1", arch: "all",
		sha256: "0d5f444f594e48c1e16a41d8fc628a09b24c658916a1274025c2330f2a802bed",
	}
	// libc6 is all that libchdb.so needs. It depends on libgcc-s1, which glibc loads only for pthread_exit,
	// pthread_cancel and backtrace: neither libchdb.so nor the program calls them.
	libc6 = debianPackage{
		name: "libc6", version: "2.36-9+deb12u14", arch: "amd64",
		sha256: "ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf",
	}
)

// The ClickHouse library, as deploy/fetch-libchdb.sh fetches it and catalog/embedded expects it: a test
// compares. The npm package exists for linux/amd64 alone; there is none for linux/arm64 in this version.
const (
	libraryPackage = "@chdb/lib-linux-x64-gnu"
	libraryVersion = "26.7.3-stable.1"
	librarySHA256  = "36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5"
)
