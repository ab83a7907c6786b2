#!/usr/bin/env bash
# The test programs must be able to fail: programs.sh FOLDER-OF-PROGRAMS. A wrong number, a wrong shape and junk are told.
set -uo pipefail
cd "$(dirname "$0")/.."
programs=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
broken=0

# ends CODE LAST-LINE-OR-EMPTY "SENTENCE" COMMAND...
ends() {
  local wanted=$1 last=$2 sentence=$3
  shift 3
  "$@" >"$folder/out" 2>"$folder/err"
  local got=$?
  if [ "$got" -ne "$wanted" ] || { [ -n "$last" ] && [ "$(tail -n 1 "$folder/out")" != "$last" ]; }; then
    echo "broken: $sentence: exit code $got, wanted $wanted, last line '$(tail -n 1 "$folder/out")', $(head -n 1 "$folder/err")"
    broken=1
  fi
}

golden=$programs/golden
head -n 1 tests/data/golden/keras_padding.jsonl >"$folder/right.jsonl"
sed 's/"output":{"shape":\(.*\)"data":\[0,0,-4/"output":{"shape":\1"data":[0,0,-5/' "$folder/right.jsonl" >"$folder/number.jsonl"
sed 's/"output":{"shape":\[1,2,7\]/"output":{"shape":[2,1,7]/' "$folder/right.jsonl" >"$folder/shape.jsonl"
sed 's/"output":{.*$/"error":"refused"}/' "$folder/right.jsonl" >"$folder/error.jsonl"
echo 'junk' >"$folder/junk.jsonl"
echo '{"id": 3}' >"$folder/other.jsonl"
sed 's/"id":/"id":{},"x":/' "$folder/right.jsonl" >"$folder/field.jsonl"
ends 0 "1 passed, 0 refused, 0 failed" "a right answer passes" "$golden" "$folder/right.jsonl"
ends 1 "0 passed, 0 refused, 1 failed" "a wrong number fails" "$golden" "$folder/number.jsonl"
ends 1 "0 passed, 0 refused, 1 failed" "a wrong shape fails" "$golden" "$folder/shape.jsonl"
ends 1 "0 passed, 0 refused, 1 failed" "an answer to a refused call fails" "$golden" "$folder/error.jsonl"
ends 1 "1 passed, 0 refused, 1 failed" "files are counted together" "$golden" "$folder/right.jsonl" "$folder/shape.jsonl"
for file in junk other field; do
  ends 2 "" "$file.jsonl is no golden file" "$golden" "$folder/$file.jsonl"
done
if [ -x "$programs/convoy" ]; then
  printf -- '- A list\n\n    ```console\n    $ convoy --version\n    convoy 9.9\n    ```\n' >"$folder/list.md"
  ends 1 "1 commands run" "another answer in a list of a document is told" tests/docs.sh "$programs/convoy" "$folder/list.md"
  tests/docs.sh --write "$programs/convoy" "$folder/list.md" >/dev/null
  ends 0 "1 commands run" "an answer in a list of a document is one" tests/docs.sh "$programs/convoy" "$folder/list.md"
  printf '    convoy diff a.onnx b.onnx --no-such-option    what it does\n' >"$folder/call.md"
  ends 1 "1 commands tried" "a call that nobody can make is told" tests/docs.sh --shown "$programs/convoy" "$folder/call.md"
fi
ends 2 "" "a missing file is told" "$golden" "$folder/missing.jsonl"
ends 2 "" "no file is told" "$golden"
ends 2 "" "a wrong option is told" "$golden" --no-such-option "$folder/right.jsonl"

corpus=$programs/corpus
case=tests/data/corpus/keras/conv2d_same_k3_s2_even
mkdir "$folder/model"
cp "$case"/* "$folder/model"
ends 0 "3 passed, 0 refused, 0 failed" "a right model passes in all its forms" "$corpus" "$folder/model"
cp "$folder/model/input_0.npy" "$folder/model/output_0.npy"
ends 1 "0 passed, 0 refused, 3 failed" "wrong outputs fail" "$corpus" "$folder/model"
ends 2 "" "a folder without a case is told" "$corpus" "$folder"/missing

ports=$programs/ports
ends 0 "2 passed, 0 refused, 0 failed" "what is written is read back" "$ports" --most 0 "$case"
ends 1 "1 passed, 0 refused, 1 failed" "another number in the text fails" "$ports" --spoil '(0, 1, 0, 1)' '(1, 0, 1, 0)' "$case"
ends 1 "more than 0 refused" "a refusal too many fails" "$ports" --most 0 --spoil 'nn.Conv2d' 'nn.NoLayer' "$case"
exit $broken
