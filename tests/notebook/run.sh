#!/usr/bin/env bash
# Installs the wheel beside a kernel of Jupyter and looks at what a notebook is shown: run.sh WHEEL-FOLDER [--pages DIR].
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
pip=("$folder/env/bin/pip" --disable-pip-version-check -q)
"${pip[@]}" install numpy ipykernel==7.4.0
"${pip[@]}" install --no-index --no-deps "$1"/convoy-*.whl
shift
JUPYTER_PLATFORM_DIRS=1 PYTHONDONTWRITEBYTECODE=1 "$folder/env/bin/python" tests/notebook/test_kernel.py "$@"
