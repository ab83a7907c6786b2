#!/usr/bin/env bash
# Runs every command of the documentation and compares what it prints with what stands there.
# docs.sh CONVOY FILE.md... compares and exits 1 where they differ; docs.sh --write CONVOY FILE.md... writes the outputs.
# A command stands in a block that begins with ```console, behind "$ "; what follows up to the next command is its output.
# docs.sh --shown CONVOY FILE.md... runs the commands of indented blocks, whose files are the reader's own: none is a mistaken call.
set -uo pipefail
write=0
shown=0
if [ "$1" = --write ]; then
  write=1
  shift
elif [ "$1" = --shown ]; then
  shown=1
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
if [ $shown -eq 1 ]; then
  cd "$(dirname "$0")/.." || exit 1
  for file in "$@"; do
    while IFS= read -r command; do
      commands=$((commands + 1))
      rm -rf "$folder/here"
      mkdir "$folder/here"
      ln -s "$examples" "$folder/here/examples"
      for each in pages ports; do mkdir "$folder/here/$each"; done
      if ! (cd "$folder/here" && PATH="$folder/bin:$PATH" timeout 60 bash -c "$command" </dev/null >"$folder/said" 2>&1); then
        # Of files that are not there it says so (4); 2 is a call that nobody can make.
        grep -q -- "--help shows what there is" "$folder/said" && { echo "$file: $command"; head -n 1 "$folder/said"; status=1; }
      fi
    done < <(awk '/^ *```/ { fenced = !fenced } !fenced' "$file" | sed -nE 's/^(    +)(\$ )?(convoy [a-z].*)$/\3/p' | sed -E 's/   *[^-].*$//')
  done
  [ "$commands" -gt 0 ] || { echo "no command was found in $*"; status=1; }
  echo "$commands commands tried"
  exit $status
fi
for file in "$@"; do
  rm -rf "$folder/here"  # a page begins where its reader begins
  mkdir "$folder/here"
  ln -s "$examples" "$folder/here/examples"
  text=$folder/rewritten
  : >"$text"
  in_block=0
  indent=
  while IFS= read -r line || [ -n "$line" ]; do
    if [[ $line =~ ^(\ *)\`\`\`console$ ]]; then
      in_block=1
      indent=${BASH_REMATCH[1]}  # in a list
    elif [ "$line" = "$indent\`\`\`" ] && [ $in_block -eq 1 ]; then
      in_block=0
    elif [ $in_block -eq 1 ]; then
      case ${line#"$indent"} in
      '$ '*)
        echo "$line" >>"$text"
        commands=$((commands + 1))
        (cd "$folder/here" && PATH="$folder/bin:$PATH" bash -c "${line#"$indent"'$ '}" </dev/null 2>&1) | sed "s/^\(.\)/$indent\1/" >>"$text"
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
