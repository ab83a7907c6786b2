#!/usr/bin/env bash
# Runs every command of the documentation and compares what it prints with what stands there.
# docs.sh CONVOY FILE.md... compares and exits 1 where they differ; docs.sh --write CONVOY FILE.md... writes the outputs.
# A command stands in a block that begins with ```console, behind "$ "; what follows up to the next command is its output.
set -uo pipefail
write=0
if [ "$1" = --write ]; then
  write=1
  shift
fi
convoy=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$convoy" "$folder/bin/convoy"
examples=$(realpath "$(dirname "$0")/../examples")
# How numbers round is the compiler's and the processor's affair; that a proof says them is not.
unrounded() {
  sed -E 's/(largest difference|, r) [0-9.e+-]+/\1 ?/g' "$1"
}
status=0
commands=0
for file in "$@"; do
  rm -rf "$folder/here"  # a page begins where its reader begins
  mkdir "$folder/here"
  ln -s "$examples" "$folder/here/examples"
  text=$folder/rewritten
  : >"$text"
  in_block=0
  while IFS= read -r line || [ -n "$line" ]; do
    if [ "$line" = '```console' ]; then
      in_block=1
    elif [ "$line" = '```' ] && [ $in_block -eq 1 ]; then
      in_block=0
    elif [ $in_block -eq 1 ]; then
      case $line in
      '$ '*)
        echo "$line" >>"$text"
        commands=$((commands + 1))
        (cd "$folder/here" && PATH="$folder/bin:$PATH" bash -c "${line#'$ '}" </dev/null >>"$text" 2>&1)
        ;;
      esac
      continue  # the outputs are those of now
    fi
    echo "$line" >>"$text"
  done <"$file"
  if [ $write -eq 1 ]; then
    cp "$text" "$file"
  elif ! diff -u <(unrounded "$file") <(unrounded "$text"); then
    echo "$file: what the commands print is not what stands there; look at the difference, then tests/docs.sh --write"
    status=1
  fi
done
if [ "$commands" -eq 0 ]; then
  echo "no command was found in $*"
  status=1
fi
echo "$commands commands run"
exit $status
