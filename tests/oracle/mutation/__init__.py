"""Known mistakes, each written into a node of an ONNX model: what tests/oracle/mutate.py asks `convoy diff` about."""
from . import functions, moves, weights, windows

MISTAKES = [*windows.MISTAKES, *weights.MISTAKES, *functions.MISTAKES, *moves.MISTAKES]
