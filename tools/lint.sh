#!/usr/bin/env bash
# The checks of `make lint`; --fix rewrites the formatting instead of complaining. TIDY=1 adds clang-tidy.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0

mapfile -t sources < <(git ls-files --cached --others --exclude-standard -- \
  'src/*.h' 'src/*.cpp' 'include/*.h' 'tests/*.h' 'tests/*.cpp' 'bench/*.cpp' 'fuzz/*.cpp' 'examples/*.cpp' |
  while read -r file; do [ -e "$file" ] && echo "$file"; done)

if [ "${1:-}" = --fix ]; then
  [ ${#sources[@]} -eq 0 ] || clang-format-19 -i "${sources[@]}"
  exit 0
fi

python3 tools/check_includes.py || failed=1
python3 tools/check_names.py || failed=1

if [ ${#sources[@]} -gt 0 ]; then
  unformatted=$(printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 50 clang-format-19 --dry-run 2>&1 | sed -n 's/^\([^:]*\):\([0-9]*\):.*warning.*/\1:\2/p' |
    awk -F: '!seen[$1]++ {print "  " $1 ":" $2}')
  if [ -n "$unformatted" ]; then
    printf 'not formatted (run `make format`), first place of each:\n%s\n' "$unformatted"
    failed=1
  fi
fi

for script in tools/*.sh tools/hooks/* bench/*.sh .ci/run; do
  [ -e "$script" ] || continue
  bash -n "$script" || failed=1
  [ -x "$script" ] || { echo "$script is not executable"; failed=1; }
done
# grep -q leaves before its writer has ended, which then fails now and then, and the pipe with it.
git grep -nE '\| *grep -[a-zA-Z]*q' -- '*.sh' .ci && { echo "write grep >/dev/null behind a pipe"; failed=1; }
strays=$(git ls-files --cached --others --exclude-standard -- '*.err' '*.log' '*.o' '*.orig' '*.rej' '*.tmp')
[ -z "$strays" ] || { printf 'what a tool left behind belongs into build/:\n%s\n' "$strays"; failed=1; }
git ls-files --cached --others --exclude-standard -- '*.py' | python3 -c '
import ast, os, sys
for path in sys.stdin.read().splitlines():
    if os.path.exists(path):
        ast.parse(open(path).read(), path)' || failed=1

# Older subjects stay as they are. A date is known in a shallow clone too, where neither a tag nor a base may be.
while read -r subject; do
  [ ${#subject} -le 72 ] || { echo "the subject of a commit is longer than 72 characters: $subject"; failed=1; }
done < <(git log --no-merges --since=2026-11-22T22:00:00Z --format=%s 2>/dev/null)

if [ -n "${TIDY:-}" ]; then
  tools/setup.sh tidy || exit 1
  cmake --preset debug --log-level=WARNING >/dev/null || exit 1
  git ls-files 'src/*.cpp' | xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build/debug --quiet || failed=1
fi

[ $failed -eq 0 ] && echo "lint: nothing to complain about"
exit $failed
