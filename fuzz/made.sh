#!/usr/bin/env bash
# made.sh REPLAY TARGET N FOLDER: reads N inputs made of the seeds of a target (seeds.py), each under its budget of processor
# time and memory. One that breaks a promise stays in FOLDER/found/TARGET.
set -euo pipefail
command -v python3 >/dev/null || { echo "python3 makes the seeds, and is not here"; exit 77; }
seeds=$4/seeds-$2
python3 fuzz/seeds.py "$seeds" "$2"
exec "$1" --runs "$3" --found "$4/found/$2" "$2" "$seeds/$2"
