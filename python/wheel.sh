#!/usr/bin/env bash
# Makes the wheel of what lies in a build folder: wheel.sh BUILD-FOLDER TARGET-FOLDER. One wheel is left there, for the python3 that
# runs this, with the platform tag that its libraries' versions allow (auditwheel).
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
target=$(realpath -m "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tried() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }
rm -rf "$target"
tools=$build/python
if ! cmp -s python/tools.txt "$tools/made_from.txt"; then
  rm -rf "$tools"
  tried python3 -m venv "$tools"
  tried "$tools/bin/pip" --disable-pip-version-check -q install -r python/tools.txt
  cp python/tools.txt "$tools/made_from.txt"
fi
export PATH=$tools/bin:$PATH
tried pip wheel . --no-deps --no-build-isolation --disable-pip-version-check -w "$work/made" \
  --config-settings=cmake.define.CONVOY_BUILD="$build"
tried auditwheel repair --zip-compression-level 9 -w "$target" "$work"/made/convoy-*.whl
tried auditwheel show "$target"/convoy-*.whl
tag=$(tr '\n' ' ' <"$work/log" | grep -oP 'platform tag: "\K[^"]+')
case $tag in manylinux*) ;; *) cat "$work/log" >&2; echo "the wheel is for this machine alone: $tag" >&2; exit 1 ;; esac
ls -l "$target" | awk 'NR > 1 { printf "%s  %.1f MB\n", $9, $5 / 1e6 }'
