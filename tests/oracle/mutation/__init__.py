"""Known mistakes, each written into a node of an ONNX model: what tests/oracle/mutate.py asks `convoy diff` about."""
from . import functions, moves, steps, weights, windows

MISTAKES = [*windows.MISTAKES, *weights.MISTAKES, *functions.MISTAKES, *moves.MISTAKES, *steps.MISTAKES]

# Causes that are about steps of whole numbers.
STEPS = {cause for cause, _, _ in steps.MISTAKES}
