#!/usr/bin/env bash
# Installs into an empty folder and lives there as a user would: package.sh BUILD-FOLDER COMPILER. Builds examples/cpp
# with find_package(convoy) and compares what the programs print, runs the C++ of the documents, and links a program that
# needs every public function.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
broken=0
complain() {
  echo "broken: $*"
  broken=1
}

cmake --install "$build" --prefix "$folder/prefix" --component library >"$folder/said" 2>&1 ||
  { cat "$folder/said"; exit 1; }

# configured FOLDER: configures and builds a project against the installed package only; what the build of convoy finds
# is not found here.
configured() {
  cmake -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON >"$folder/said" 2>&1 &&
    cmake --build "$1/build" >>"$folder/said" 2>&1
}

# prints PROGRAM FILE "SENTENCE": the program ends well and prints just what the file holds.
prints() {
  if ! "$1" >"$folder/printed" 2>&1; then complain "$3 ends badly: $(head -n 3 "$folder/printed")"; fi
  diff "$2" "$folder/printed" >"$folder/difference" || { complain "$3 prints something else:"; cat "$folder/difference"; }
}

cp -r examples/cpp "$folder/examples"
if configured "$folder/examples"; then
  for wanted in examples/cpp/*.txt; do
    name=$(basename "$wanted" .txt)
    [ "$name" = CMakeLists ] || prints "$folder/examples/build/$name" "$wanted" "examples/cpp/$name"
  done
else
  complain "examples/cpp does not build:" && cat "$folder/said"
fi

# A block of C++ in README.md or docs/cpp.md is a whole program, and the block of text behind it is what it prints.
mkdir "$folder/readme"
awk -v folder="$folder/readme" '
  /^```cpp$/ { inside = folder "/snippet" ++count ".cpp"; next }
  /^```text$/ && count { inside = folder "/snippet" count ".txt"; next }
  /^```$/ { inside = ""; next }
  inside { print > inside }' README.md docs/cpp.md
cat >"$folder/readme/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(readme LANGUAGES CXX)
find_package(convoy REQUIRED)
file(GLOB snippets snippet*.cpp)
foreach(snippet IN LISTS snippets)
  get_filename_component(name ${snippet} NAME_WE)
  add_executable(${name} ${snippet})
  target_link_libraries(${name} PRIVATE convoy::convoy)
endforeach()
END
if ! ls "$folder"/readme/snippet*.cpp >/dev/null 2>&1; then
  complain "the documents hold no C++"
elif configured "$folder/readme"; then
  for snippet in "$folder"/readme/snippet*.cpp; do
    prints "$folder/readme/build/$(basename "$snippet" .cpp)" "${snippet%.cpp}.txt" "C++ of the documents, $(basename "$snippet")"
  done
else
  complain "the C++ of the documents does not build:" && cat "$folder/said"
fi

# Every function that the public headers declare is asked of the linker by its name.
mkdir "$folder/all"
find "$build/CMakeFiles/convoy_core.dir" \( -path '*/src/functions/*.o' \
  -o -path '*/src/library/*.o' -o -name 'unity_short_parts_*.o' \) \
  -exec nm --defined-only --extern-only {} + |
  awk '$2 == "T" { print "-Wl,--undefined=" $3 }' >"$folder/all/symbols.txt"
[ "$(wc -l <"$folder/all/symbols.txt")" -gt 20 ] || complain "the library holds only a few functions"
cat >"$folder/all/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(all LANGUAGES CXX)
find_package(convoy REQUIRED)
file(STRINGS symbols.txt symbols)
file(WRITE ${CMAKE_BINARY_DIR}/main.cpp "int main() {}\n")
add_executable(everything ${CMAKE_BINARY_DIR}/main.cpp)
target_link_libraries(everything PRIVATE convoy::convoy)
target_link_options(everything PRIVATE ${symbols})
END
configured "$folder/all" || { complain "a program that calls every function does not link:"; cat "$folder/said"; }

# The version is checked.
mkdir "$folder/newer"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(newer LANGUAGES CXX)\nfind_package(convoy 99 REQUIRED)\n' \
  >"$folder/newer/CMakeLists.txt"
if configured "$folder/newer"; then complain "version 0 passes for version 99"; fi
exit $broken
