#!/usr/bin/env bash
# Installs the wheel into an environment that has numpy and nothing else, and runs the tests there: run.sh WHEEL-FOLDER.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
pip=("$folder/env/bin/pip" --disable-pip-version-check -q)
size=$(stat -c %s "$1"/convoy-*.whl)
[ "$size" -le 10000000 ] || { echo "the wheel has $size bytes: more than 10 MB" >&2; exit 1; }
"${pip[@]}" install numpy
"${pip[@]}" install --no-index --no-deps "$1"/convoy-*.whl
PATH=$folder/env/bin:$PATH CONVOY_TEST_FOLDER=$folder PYTHONDONTWRITEBYTECODE=1 \
  "$folder/env/bin/python" -W error -m unittest discover -s tests/python -t tests/python
