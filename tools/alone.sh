#!/usr/bin/env bash
# Checks that every source stands alone: builds compile the sources of a folder together, where a forgotten include or a name
# that shadows another goes unseen.   tools/alone.sh [FILE...]   all of src/ where no file is named
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || mapfile -t files < <(git ls-files 'src/*.cpp')
[ $# -eq 0 ] || files=("$@")
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 4 g++ --param ggc-min-heapsize=524288 -std=c++23 -fsyntax-only -Isrc -Iinclude \
  -Wall -Wextra -Wpedantic -Wshadow -Werror -Wno-missing-field-initializers -Wno-non-template-friend -DCONVOY_VERSION='"0"'
echo "alone: ${#files[@]} sources compile by themselves"
