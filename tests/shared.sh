#!/usr/bin/env bash
# Runs the golden calls and the models that lie beside the project, where they are: shared.sh FOLDER-OF-PROGRAMS.
set -uo pipefail
cd "$(dirname "$0")/.."
programs=$1
shared=${CONVOY_SHARED:-../shared}
if [ ! -d "$shared/golden" ] || [ ! -d "$shared/corpus/keras" ]; then
  echo "skipped: no golden calls or models in $shared (set CONVOY_SHARED to where they are)"
  exit 77
fi
status=0
run() { "$@" || status=1; }
run "$programs/golden" "$shared"/golden/keras_*.jsonl "$shared/golden/questions.jsonl" "$shared/golden/deviations.jsonl" \
  "$shared"/golden/torch_*.jsonl "$shared"/golden/tensorflow_*.jsonl "$shared"/golden/onnx_*.jsonl "$shared/golden/tflite.jsonl"
run "$programs/corpus" "$shared/corpus/keras" "$shared/corpus/torch" "$shared/corpus/tensorflow" "$shared/models"
run "$programs/ports" --most 10 "$shared/corpus/torch" "$shared/corpus/onnx"
exit $status
