"""Random numbers for settings, and the line of JSON that `golden` reads.

A setting is a plain dictionary that says everything about one call; the data are drawn from its `seed` and its sizes,
so that a smaller setting is a complete case again. The format of a line is described in tests/data/README.md.
"""
import math
import random
import re

import numpy as np

LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
SPACE = {1: "W", 2: "HW", 3: "DHW"}


class Draw(random.Random):
    def pick(self, *choices):
        return choices[self.randrange(len(choices))]

    def chance(self, probability):
        return self.random() < probability

    def between(self, low, high):
        return self.randint(low, high)

    def per_axis(self, rank, low, high):
        """One number per axis, unlike from axis to axis as far as the range allows."""
        drawn = list(range(low, high + 1))
        self.shuffle(drawn)
        while len(drawn) < rank:
            drawn += drawn
        return drawn[:rank]

    def sizes(self, reach, low, room):
        """Sizes from `low` below what a window reaches to `room` above it, unlike on every axis."""
        out = []
        for one in reach:
            n = max(1, one + self.between(low, room))
            while n in out:
                n += 1
            out.append(n)
        return out

    def mischief(self, setting, *keys, share=0.04):
        """Now and then a number that makes no sense: frameworks refuse most of them."""
        if self.chance(share):
            numbers = setting[self.pick(*keys)]
            if isinstance(numbers, list) and numbers and not isinstance(numbers[0], list):
                numbers[self.randrange(len(numbers))] = self.pick(0, -1, -2, 7)
        return setting


def extent(kernel, dilation):
    return [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]


class Data:
    """Small whole numbers, whose products and sums are exact in float32."""

    def __init__(self, setting):
        self.random = np.random.default_rng(setting["seed"])

    def integers(self, shape, low=-9, high=9):
        return self.random.integers(low, high + 1, size=checked(shape)).astype(np.float32)

    def distinct(self, shape, signed=True):
        """No two alike, so that a maximum has one place; sometimes all negative, so that a padding of 0 would show."""
        count = math.prod(checked(shape))
        values = self.random.permutation(count).astype(np.float32)
        if signed:
            values -= count // 2 if self.random.random() < 0.6 else count + 1
        return values.reshape(shape)


def checked(shape):
    if min(shape, default=1) < 0 or math.prod(shape) > 20000:
        raise ValueError(f"no array of shape {shape}")
    return shape


def number(values):
    """A list of one is written as a number and a longer one as a tuple, as people write them."""
    return values if not isinstance(values, list) else values[0] if len(values) == 1 else tuple(values)


def spelled(value):
    """A float32 as the shortest number that reads back as the same."""
    value = np.float32(value)
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == np.trunc(value) and abs(value) < 1 << 24:
        return int(value)
    return float(str(value))


def written(values, layout):
    values = np.asarray(values)
    if values.dtype.kind in "iub":
        data = [int(v) for v in values.reshape(-1)]
        return {"shape": list(values.shape), "layout": layout, "dtype": values.dtype.name, "data": data}
    return {"shape": list(values.shape), "layout": layout, "data": [spelled(v) for v in values.reshape(-1)]}


def first_line(error):
    for line in str(error).splitlines():
        line = re.sub(r"\{\{function_node .*?\}\} |\x1b\[\d*m", "", line).strip()
        if line and not line.startswith(("Exception encountered when calling", "Error(s) in loading")):
            return line[:240]
    return type(error).__name__


def line_of(name, framework, call, answer):
    """`call`: text, op, rank, attrs, inputs as {name: (values, layout)}; `answer`: what the framework said."""
    line = {"id": name, "framework": framework, "call": call["call"], "op": call["op"], "rank": call["rank"],
            "attrs": call["attrs"], "inputs": {k: written(*v) for k, v in call["inputs"].items()}}
    if "error" in answer:
        line["error"] = answer["error"]
    else:
        line |= {k: written(answer[k], call["layouts"].get(k, call["layout"])) for k in ("output", "indices") if k in answer}
    if "run" in answer:
        line["run"] = answer["run"]
    return line
