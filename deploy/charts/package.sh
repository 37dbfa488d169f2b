#!/usr/bin/env bash
# Checks a Helm chart with all of its ci/*-values.yaml, and packages it into DIRECTORY/NAME-VERSION.tgz.
# The same chart makes the same bytes: helm dates the files by the clock, so they are packed once more without that.
#
#   deploy/charts/package.sh HELM CHART DIRECTORY
set -euo pipefail
helm=$1
chart=$2
to=$3

# helm reports each symbolic link to alerts/ and dashboards/ in a line of its own.
quietly() { "$@" 2> >(grep -v 'found symbolic link' >&2); }

for values in "$chart"/ci/*-values.yaml; do
	quietly "$helm" lint --strict --quiet "$chart" --values "$values"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly "$helm" package "$chart" --destination "$work" >/dev/null
package=$(basename "$work"/*.tgz)
mkdir "$work/files" "$work/packed"
tar -xzmf "$work/$package" -C "$work/files"
mkdir -p "$to"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a=rX,u+w -cf - -C "$work/files" "$(ls "$work/files")" | gzip -9n >"$work/packed/$package"
mv "$work/packed/$package" "$to/$package"
echo "$to/$package"
