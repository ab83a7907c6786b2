#!/usr/bin/env bash
# Every public header compiles alone and strictly, and includes nothing but the standard library and other public
# headers: headers.sh COMPILER.
set -uo pipefail
cd "$(dirname "$0")/../.."
compiler=$1
broken=0
for header in include/convoy/*.h; do
  foreign=$(grep -nE '^\s*#\s*include' "$header" | grep -vE '#include (<[a-z_]+>|"convoy/[a-z_]+\.h")$')
  if [ -n "$foreign" ]; then
    echo "$header includes what its users may not have: $foreign"
    broken=1
  fi
  echo "#include \"convoy/$(basename "$header")\"" |
    "$compiler" -std=c++23 -Wall -Wextra -Wpedantic -Werror -Iinclude -x c++ -fsyntax-only - ||
    { echo "$header does not compile alone"; broken=1; }
done
exit $broken
