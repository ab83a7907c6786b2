#!/usr/bin/env bash
# Makes the wheel of what lies in a build folder: wheel.sh BUILD-FOLDER TARGET-FOLDER. One wheel is left there, for the python3 that
# runs this.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
target=$(realpath -m "$2")
package=$build/package
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -rf "$package" "$target"
cmake --install "$build" --prefix "$package" --strip >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
[ -x "$build/python/bin/pip" ] || python3 -m venv "$build/python"
"$build/python/bin/pip" wheel . --no-deps --disable-pip-version-check -w "$target" \
  --config-settings=cmake.define.CONVOY_PREFIX="$package" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
ls -l "$target" | awk 'NR > 1 { printf "%s  %.1f MB\n", $9, $5 / 1e6 }'
