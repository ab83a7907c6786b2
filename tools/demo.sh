#!/usr/bin/env bash
# The demo: carries examples/digits.keras to PyTorch with proof, then reads one held-back digit with convoy's own
# runtime and draws it.   tools/demo.sh [0-9]   which of the ten digits; 7 if not said
set -euo pipefail
cd "$(dirname "$0")/.."
convoy=build/release/convoy
digit=${1:-7}
mkdir -p build/demo

say() { printf '\n$ %s\n' "$*"; "$@"; }
numbers() { tail -c +129 "$1" | od -An -v -tf4 | tr -s ' \n' '\n\n' | sed '/^$/d'; }  # of a float32 .npy

say $convoy port examples/digits.keras --to torch -o build/demo/digits.py --force

# One digit out of the ten: the same header with the batch made 1, then the digit's 256 bytes.
one=build/demo/digit.npy
{
  printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 8, 8, 1), }"
  tail -c +$((129 + digit * 256)) examples/digits_held_back.npy | head -c 256
} >$one
rm -f build/demo/answer.npy
say $convoy run examples/digits.keras --input $one -o build/demo/answer.npy

echo
echo "The digit, which the network has never seen:"
numbers $one | awk '{ ink = substr(" .:-=+*#%@", int($1 * 9 + 0.5) + 1, 1); row = row ink ink
                      if (NR % 8 == 0) { print "    " row; row = "" } }'
echo "What the network makes of it:"
numbers build/demo/answer.npy | awk '
  { bar = ""; for (i = 0; i < int($1 * 40 + 0.5); i++) bar = bar "#"
    printf "    %d  %5.1f %%  %s\n", NR - 1, $1 * 100, bar
    if ($1 > most) { most = $1; best = NR - 1 } }
  END { print "It reads a " best "." }'
echo "The port is build/demo/digits.py; where PyTorch is installed, python build/demo/digits.py checks it."
