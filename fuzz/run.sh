#!/usr/bin/env bash
# Runs every fuzz target on RUNS inputs (or for SECONDS_EACH, whichever ends first) and says how many there were. What
# is found lies in build/fuzz/found/TARGET and ends the run with exit code 1; once it is mended, keep it in fuzz/found/TARGET.
#   RUNS=2000 TARGETS="pickle onnx" fuzz/run.sh
set -uo pipefail
cd "$(dirname "$0")/.."
runs=${RUNS:-5000000}
build=build/fuzz
python3 fuzz/seeds.py "$build/seeds" || exit 1
# Short stacks of who allocated, and no filling: half as many inputs again in a second. What is found is run again without.
export ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=1:malloc_context_size=2:max_malloc_fill_size=0:quarantine_size_mb=16
export UBSAN_OPTIONS=print_stacktrace=1
failed=0
# Inputs are as short as their format allows: the shorter, the more of them in a second.
longest() {
  case $1 in
    python) echo 512 ;;
    source) echo 2048 ;;
    pickle | safetensors | onnx | graphdef | bundle | tflite) echo 4096 ;;
    checkpoint | exported) echo 8192 ;;
    *) echo 32768 ;;
  esac
}
for target in ${TARGETS:-pickle checkpoint exported safetensors onnx hdf5 keras python source graphdef bundle tflite}; do
  mkdir -p "$build/corpus/$target" "$build/found/$target"
  log=$build/$target.log
  if nice -n 19 "$build/fuzz_$target" -runs="$runs" -max_total_time="${SECONDS_EACH:-0}" -timeout=20 -rss_limit_mb=2048 \
    -max_len="$(longest "$target")" -print_final_stats=1 -artifact_prefix="$build/found/$target/" \
    "$build/corpus/$target" "$build/seeds/$target" >"$log" 2>&1; then
    verdict=nothing
  else
    verdict="see $log" failed=1
  fi
  count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  edges=$(grep -o 'cov: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)
  printf '%-12s %10s inputs  %6s edges  found: %s\n' "$target" "${count:-?}" "${edges:-?}" "$verdict"
done
exit $failed
