"""Inputs at the edges, and the line of JSON that `semantics` reads: a model in a framework's own form, its inputs, and what
the framework answered."""
import json
import re

import numpy as np

NAN, INF = float("nan"), float("inf")
F32 = np.float32

# Float32 numbers, by what they are good for. No subnormal ones: frameworks flush them to 0 or not as the thread is set.
FINITE = F32([0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3, -3, 0.49999997, -0.49999997, 1, -1, 2, -2, 6, -6, 0.1, -0.1])
FAR = F32([16.5, -16.5, 20.25, -20.25, 30, -30, 88.5, -88.5, 104, -104, 1000, -1000, 1e9, -1e9, 16777217, -8388609.5, 1e-8,
           -1e-8, 1e-30, -1e-30, 3e38, -3e38])
SPECIAL = F32([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0])
WHOLE = np.int32([0, 1, -1, 2, -2, 3, -3, 7, -7, 100, -100])
WHOLE_FAR = np.int32([2147483647, -2147483648, 2147483646, 65536, -65536, 46341, 16777217, -16777217])
BYTES = np.uint8([0, 1, 2, 3, 7, 100, 127, 128, 200, 254, 255])
TRUTH = np.array([True, False, True, True, False])

# Pairs: every left with every right.
LEFT = F32([0.0, -0.0, 1, -1, 2.5, -2.5, 3, -3, 7, -7, 0.5, -0.5])
RIGHT = F32([1, -1, 2, -2, 3, -3, 0.75, -0.75, 0.0, -0.0])
ODD = F32([NAN, INF, -INF, 0.0, -0.0, 1, -1, 2.5])
QUOTIENTS = F32([1, 0.3, 0.7, 6, 0.5, -1, -0.3, 4.9, -7.7, 1e6])
STEPS = F32([0.1, -0.1, 0.3, 0.2, -0.7, 1.1])
WHOLE_LEFT = np.int32([0, 1, -1, 2, -2, 7, -7, 8, -8, 100])
WHOLE_RIGHT = np.int32([1, -1, 2, -2, 3, -3, 7, -7])

# Rows along which something is folded or searched; ties, NaN, infinities, signs of zero.
TIES = F32([[2, 1, 2, 2], [0, 0, 0, 0], [-1, -1, -3, -3], [0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, -0.0, 0.0]])
ODD_ROWS = F32([[NAN, 1, 2, 3], [1, NAN, 5, NAN], [3, 2, 1, NAN], [INF, 1, -INF, 2], [-INF, -INF, -INF, -INF],
                [INF, INF, INF, INF], [NAN, NAN, NAN, NAN], [INF, NAN, -INF, 0]])
PLAIN_ROWS = F32([[1, -2, 3, 0.5], [-1, -2, -3, -4], [0, 0, 2, -2], [1e30, 1, -1e30, 1], [3e38, 3e38, -3e38, 1]])
WHOLE_ROWS = np.int32([[3, -1, 2, 2], [-4, -4, -7, 1], [2147483647, 1, 5, -2147483648], [0, 0, 0, 0]])
BYTE_ROWS = np.uint8([[200, 100, 3, 3], [255, 255, 255, 255], [0, 0, 0, 1]])
TRUTH_ROWS = np.array([[True, False, True, True], [False, False, False, False], [True, True, True, True]])


# Where the sign of a zero is what the operator says, and not what the width of the processor's registers left of it.
SIGNS = re.compile(r"(torch\.(abs|floor|ceil|round|trunc)\(x\)|ops\.(abs|negative|floor|ceil|round|trunc)\(x\)|-x|x \* -1|x \* 0|0 - x|x \* y"
                   r"|(Abs|Neg|Floor|Ceil|Round|Identity|Mul\(\[?-?[0-9.]+\]?\))) (finite|special)")


def grid(left, right):
    """Each of the left with each of the right, as two flat arrays."""
    a, b = np.meshgrid(left, right, indexing="ij")
    return a.reshape(-1).copy(), b.reshape(-1).copy()


def spelled(value):
    """A float32 as the shortest number that reads back as the same; -0.0 keeps its sign."""
    value = np.float32(value)
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == np.trunc(value) and abs(value) < 1 << 24 and not (value == 0 and np.signbit(value)):
        return int(value)
    return float(str(value))


def written(array):
    array = np.asarray(array)
    kind = array.dtype.kind
    flat = array.reshape(-1)
    data = [int(v) for v in flat] if kind in "iub" else [spelled(v) for v in flat.astype(np.float32)]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def line_of(row):
    return json.dumps(row, separators=(",", ":"), allow_nan=False)


def first_line(error):
    for line in str(error).splitlines():
        if line.strip():
            return line.strip()[:160]
    return type(error).__name__
