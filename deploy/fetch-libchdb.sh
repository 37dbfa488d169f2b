#!/bin/sh
# Fetches libchdb.so, the embedded ClickHouse, by npm, checks it against the integrity
# pinned below, and puts it into .cache/lib of the repository (or into the directory
# given as $1). Does nothing when the right version is there already. LIBCHDB_TARBALL names
# a package that was downloaded before.
set -eu

version=26.7.3-stable.1

repo=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$repo/.cache/lib}

case "$(uname -s)-$(uname -m)" in
Linux-x86_64) platform=linux-x64-gnu ;;
Linux-aarch64 | Linux-arm64) platform=linux-arm64-gnu ;;
Darwin-x86_64) platform=darwin-x64 ;;
Darwin-arm64) platform=darwin-arm64 ;;
*)
	echo "fetch-libchdb: no libchdb for $(uname -s) on $(uname -m)" >&2
	exit 1
	;;
esac

# sha512 of the package, as `npm view @chdb/lib-<platform>@<version> dist.integrity` tells
# it. A platform without one here relies on npm's own check against the registry.
case $platform in
linux-x64-gnu) integrity=sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw== ;;
*) integrity= ;;
esac

package=@chdb/lib-$platform@$version
library=$dir/libchdb.so
stamp=$dir/libchdb.version

if [ -f "$library" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$package $(wc -c <"$library" | tr -d ' ')" ]; then
	exit 0
fi

if ! command -v npm >/dev/null; then
	echo "fetch-libchdb: npm is needed to fetch $package (Debian: apt-get install npm)" >&2
	exit 1
fi

mkdir -p "$dir"
work=$(mktemp -d "$dir/.fetch.XXXXXX") # on the same file system, so that the last step is one rename
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

if [ -n "${LIBCHDB_TARBALL:-}" ]; then
	echo "fetch-libchdb: taking $package from $LIBCHDB_TARBALL" >&2
	tarball=$LIBCHDB_TARBALL
else
	echo "fetch-libchdb: downloading $package (about 180 MB) ..." >&2
	tarball=$work/$(cd "$work" && npm pack --silent "$package")
fi

if [ -n "$integrity" ]; then
	# By node, which npm brings along.
	got=sha512-$(node -e '
		const hash = require("crypto").createHash("sha512").setEncoding("base64");
		require("fs").createReadStream(process.argv[1]).pipe(hash).on("finish", () => process.stdout.write(hash.read()));
	' "$tarball")
	if [ "$got" != "$integrity" ]; then
		echo "fetch-libchdb: $package is not what it should be: integrity $got, want $integrity" >&2
		exit 1
	fi
fi

echo "fetch-libchdb: unpacking into $dir (about 570 MB) ..." >&2
tar -xzf "$tarball" -C "$work" package/libchdb.so
touch "$work/package/libchdb.so" # npm's packages are all of 1985, which make takes for stale
rm -f "$stamp"
mv -f "$work/package/libchdb.so" "$library"
echo "$package $(wc -c <"$library" | tr -d ' ')" >"$stamp"
echo "fetch-libchdb: $library is ready" >&2
