#!/usr/bin/env bash
# Times convoy on large ONNX models against `cp`, turn by turn, and watches its memory beside the mapped files.
#   bench/onnx.sh PYTHON [FOLDER]     a Python that has onnx; models are made in FOLDER (default: /tmp) and removed again
# Figures to hold: 100 MB in 1.5 times cp + 50 ms without proof; 64 MiB of memory of its own at 2.5 GB.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
convoy=$PWD/build/release/convoy
work=$(mktemp -d "${2:-/tmp}/convoy_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

clock() { local t=$EPOCHREALTIME; echo $((${t/[.,]/})); }  # microseconds
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
timed() {  # timed FILE COMMAND...
  local into=$1 begun
  shift
  begun=$(clock)
  "$@" >/dev/null 2>&1
  echo $(($(clock) - begun)) >>"$into"
}
# The largest anonymous resident memory of a command while it runs, in KiB.
own_memory() {
  "$@" >/dev/null 2>&1 &
  local most=0 now
  while now=$(awk '/^RssAnon/ {print $2}' "/proc/$!/status" 2>/dev/null) && [ -n "$now" ]; do
    [ "$now" -gt $most ] && most=$now
  done
  wait $!
  echo $most
}

"$python" bench/onnx_model.py "$work/model.onnx" 100
for _ in $(seq "${ROUNDS:-15}"); do
  rm -f "$work"/copy "$work"/out*
  sync  # neither pays for what the other left to be written
  timed "$work/cp" cp "$work/model.onnx" "$work/copy"
  sync
  timed "$work/port" "$convoy" port "$work/model.onnx" -o "$work/out.onnx" --no-proof
done
cp_us=$(median <"$work/cp")
port_us=$(median <"$work/port")
echo "cp, 100 MB:              $((cp_us / 1000)) ms"
echo "convoy port, --no-proof: $((port_us / 1000)) ms, to hold: $(((cp_us * 3 / 2 + 50000) / 1000)) ms"
rm -f "$work"/*

"$python" bench/onnx_model.py "$work/model.onnx" 2500 --external
most=$(own_memory "$convoy" port "$work/model.onnx" -o "$work/out.onnx" --external-data --no-proof)
echo "memory of its own, 2.5 GB: $((most / 1024)) MiB, to hold: 64 MiB"
cmp <(tail -c 1000000 "$work/weights.bin") <(tail -c 1000000 "$work/out.onnx.data") && echo "the weights are the same bytes"
