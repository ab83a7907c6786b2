#!/usr/bin/env bash
# Makes .oracle/venv with the frameworks pinned in tests/oracle/requirements.txt, and prints its python.
# Does nothing when the venv was made from the same pins. About 3 GB; only tests and examples use it.
set -euo pipefail
cd "$(dirname "$0")/.."
pins=tests/oracle/requirements.txt
venv=.oracle/venv
stamp=$venv/made_from.txt

if ! cmp -s "$pins" "$stamp"; then
  echo "making $venv from $pins (a few minutes, once)" >&2
  rm -rf "$venv"
  python3 -m venv "$venv"
  pip() { "$venv/bin/python" -m pip --disable-pip-version-check -q "$@" </dev/null >&2; }
  # A plain pin, alone, takes the CPU build where one is at hand; in one go with the rest pip may pick a GPU build.
  pip install "$(grep '^torch==' "$pins")"
  grep -v -e '^#' -e '^torch==' -e '^tf_keras==' -e '^pytorchcv==' "$pins" >"$venv/rest.txt"
  pip install -r "$venv/rest.txt"
  # tf_keras asks for the package `tensorflow`, a second copy of tensorflow-cpu.
  pip install --no-deps "$(grep '^tf_keras==' "$pins")"
  # pytorchcv asks for what only its downloads need.
  pip install --no-deps "$(grep '^pytorchcv==' "$pins")"
  cp "$pins" "$stamp"
fi
echo "$PWD/$venv/bin/python"
