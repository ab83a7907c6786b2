#!/usr/bin/env bash
# Installs the wheel beside Ray and fsspec, and runs tests/batch there: run.sh WHEEL-FOLDER. FULL=1: all models of the corpora.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
pip=("$folder/env/bin/pip" --disable-pip-version-check -q)
"${pip[@]}" install -r tests/batch/requirements.txt
"${pip[@]}" install --no-index --no-deps "$1"/convoy-*.whl
PYTHONDONTWRITEBYTECODE=1 "$folder/env/bin/python" -m unittest discover -s tests/batch -t tests/batch
