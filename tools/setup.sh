#!/usr/bin/env bash
# Installs the Debian packages of the named groups in tools/packages.txt that are missing.
#   tools/setup.sh build lint
# Does nothing, fast, when everything is there. Neither root nor sudo: prints the command to run and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
while read -r group package brings; do
  case " $* " in *" $group "*) ;; *) continue ;; esac
  case $brings in
    /*) [ -e "$brings" ] && continue ;;
    python3:*) python3 -c "import ${brings#*:}" 2>/dev/null && continue ;;
    *) command -v "$brings" >/dev/null && continue ;;
  esac
  missing+=("$package")
done < <(sed 's/#.*//; /^[[:space:]]*$/d' tools/packages.txt)
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "These Debian packages, or what your system calls them, are missing: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
  root=(env)
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  root=(sudo env)
else
  echo "Packages are missing, and installing them needs root. Run:" >&2
  echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${root[@]}" apt-get update && "${root[@]}" DEBIAN_FRONTEND=noninteractive \
       apt-get install -y --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
  cat "$log" >&2
  echo "could not install ${missing[*]}" >&2
  exit 1
fi
