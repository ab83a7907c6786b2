#!/usr/bin/env bash
# Shells complete every command and option that --help shows, and the manual page tells them: completion.sh CONVOY BUILD-FOLDER.
set -uo pipefail
convoy=$(realpath "$1")
build=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
broken=0
complain() {
  echo "broken: $*"
  broken=$((broken + 1))
}

# What --help shows of a command ("" is the whole): "-o" and "--output", one a line.
options_of() {
  "$convoy" $1 --help | grep -oE '^  -[^ ]*' | tr -d ' ' | tr ',' '\n' | grep '^-'
}
commands=$("$convoy" --help | sed -n '/^Subcommands:/,/^$/p' | grep -oE '^  [a-z]+' | tr -d ' ')
[ "$(wc -w <<<"$commands")" -ge 8 ] || complain "--help shows no commands"

for shell in bash zsh fish man; do
  "$convoy" completion $shell >$shell.txt || complain "there is no completion for $shell"
done
"$convoy" completion tcsh 2>/dev/null
[ $? -eq 2 ] || complain "a shell that there is not is no usage error"

# completes WORD...: what bash, having read the script, offers for the last word.
completes() {
  bash -c '
    source bash.txt
    complete -p convoy >/dev/null || exit 1
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _convoy
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
[ "$(completes convoy su)" = summary ] || complain "bash does not complete su"
[ "$(completes convoy port --to k)" = keras ] || complain "bash does not complete a target"
[ "$(completes convoy port --interface '' | tr '\n' ' ')" = "source target " ] || complain "bash does not offer the choices"
touch net.keras
[ "$(completes convoy summary ne)" = net.keras ] || complain "bash does not complete a file"
offered=$(completes convoy '')
for command in $commands; do
  grep -qx -- "$command" <<<"$offered" || complain "bash does not offer $command"
  grep -q "^    $command)" zsh.txt || complain "zsh does not know $command"
  grep -q -- "-a $command " fish.txt || complain "fish does not know $command"
  words=$(options_of $command)
  [ -n "$words" ] || complain "--help of $command shows no options"
  for option in $words; do
    completes convoy $command "$option" | grep -x -- "$option" >/dev/null || complain "bash does not offer $command $option"
    sed -n "/^    $command)/,/;;/p" zsh.txt | grep -E -- "'\*$option(=|\[)" >/dev/null || complain "zsh does not offer $command $option"
    name=$(sed -E 's/^--/-l /; t; s/^-/-s /' <<<"$option")
    grep -E -- "seen_subcommand_from $command'" fish.txt | grep -E -- " $name( |$)" >/dev/null || complain "fish does not offer $command $option"
    sed -n "/^\.SS convoy $command/,/^\.S[SH]/p" man.txt | grep -F '.B ' | grep -F -- "${option//-/\\-}" >/dev/null ||
      complain "the manual does not tell $command $option"
  done
done
bash -n bash.txt || complain "the script is no bash"
if command -v zsh >/dev/null; then zsh -n zsh.txt || complain "the script is no zsh"; fi
if command -v fish >/dev/null; then fish -n fish.txt || complain "the script is no fish"; fi
if command -v groff >/dev/null; then
  [ -z "$(groff -man -Tascii -ww man.txt 2>&1 >/dev/null | head -3)" ] || complain "the manual is no manual: $(groff -man -Tascii -ww man.txt 2>&1 >/dev/null | head -3)"
fi

for pair in bash:convoy zsh:_convoy fish:convoy.fish man:convoy.1; do
  cmp -s "${pair%%:*}.txt" "$build/manners/${pair##*:}" || complain "what is installed for ${pair%%:*} is not what the command says"
  grep -rqF "manners/${pair##*:}\"" "$build/cmake_install.cmake" || complain "${pair##*:} is not installed"
done

echo "$broken broken"
[ "$broken" -eq 0 ]
