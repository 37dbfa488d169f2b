#!/usr/bin/env bash
# Packs built programs into the archives that krew downloads, and fills in its manifest.
#
#   package.sh VERSION [DIR]
#
# DIR has each program as OS_ARCH/kubevoltracker, and gets kubevoltracker_OS_ARCH.tar.gz and voltracker.yaml. Without DIR,
# package.sh only checks that krew takes the version.
set -euo pipefail
shopt -s nullglob

version=$1
if ! [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
  echo "package.sh: krew refuses the version $version, which is not v and a semantic version. Name one: make krew VERSION=v0.1.0" >&2
  exit 2
fi
[ $# -gt 1 ] || exit 0
dir=$2
here=$(cd "$(dirname "$0")" && pwd)
cp "$here/voltracker.yaml" "$dir/voltracker.yaml"
edits=(-e "s|@VERSION@|$version|")
for program in "$dir"/*/kubevoltracker; do
  platform=$(basename "$(dirname "$program")")
  archive=$dir/kubevoltracker_$platform.tar.gz
  # The same programs make the same archive, so that a checksum can be computed again.
  tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --file=- \
    --directory="$(dirname "$program")" kubevoltracker --directory="$here/../.." LICENSE | gzip --no-name >"$archive"
  edits+=(-e "s|@SHA256_$platform@|$(sha256sum "$archive" | cut -d ' ' -f 1)|")
done
sed -i "${edits[@]}" "$dir/voltracker.yaml"
if left=$(grep -o '@[A-Z0-9]*_[a-z0-9_]*@' "$dir/voltracker.yaml" | tr '\n' ' '); then
  echo "package.sh: $dir lacks the programs for: $left" >&2
  exit 1
fi
