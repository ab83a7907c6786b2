#!/usr/bin/env bash
# Runs tests/oracle: what convoy answers and writes, compared with the frameworks themselves.
#   make oracle            a seeded sample
#   make oracle FULL=1     everything
#   make oracle GRID=N     N random calls, over all frameworks; SEED=S draws others
#   tools/oracle.sh tests/oracle/test_example.py   one file; arguments are those of pytest
# The shared test data is looked for in $CONVOY_SHARED, else ../shared.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(tools/oracle_venv.sh)
export TF_ENABLE_ONEDNN_OPTS=0 TF_CPP_MIN_LOG_LEVEL=3 KERAS_BACKEND=tensorflow CUDA_VISIBLE_DEVICES=''
if [ $# -eq 0 ]; then
  # A process for each processor, which then has one thread: most of the time goes into building small models. nproc heeds
  # OMP_NUM_THREADS.
  processes=$(nproc)
  export OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1
  # A warning whose class the main process cannot import would end the run: nothing reads their summary.
  set -- tests/oracle --numprocesses "$processes" --dist worksteal -p no:warnings
fi
exec "$python" -m pytest -q -p no:cacheprovider --durations=25 "$@"
