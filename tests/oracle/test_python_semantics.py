"""What programs compute before a model is made: the same text, in CPython and as convoy follows it.

Each case is the body of a function. What it returns is written by repr(), and the letters of all texts become a constant
of one model, which `convoy run` computes: a hundred cases cost one start. A case that convoy refuses is no fault, but
those here are read.
"""
import random
import textwrap

import numpy as np
import pytest
from carrying import convoy
from python_programs import EXPRESSIONS, OF_ARRAYS, OF_TENSORS, PROGRAMS

HEAD = """import collections, copy, dataclasses, enum, functools, itertools, math, operator, re
from collections import OrderedDict, defaultdict, namedtuple
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache, partial, reduce, wraps
from itertools import accumulate, chain, islice, product, repeat
from typing import *
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
"""
NET = """

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        texts = []
        for case in [{cases}]:
            try:
                texts.append(repr(case()))
            except Exception as error:
                texts.append("raises " + type(error).__name__)
        self.letters = torch.tensor([float(ord(letter)) for letter in chr(10).join(texts)])

    def forward(self, x):
        return x + self.letters
"""


def program_of(bodies):
    cases = [f"def case_{i}():\n{textwrap.indent(body, '    ')}\n" for i, body in enumerate(bodies)]
    return HEAD + "\n".join(cases) + NET.format(cases=", ".join(f"case_{i}" for i in range(len(bodies))))


def of_python(bodies):
    names = {"__name__": "cases"}
    exec(program_of(bodies), names)
    return "".join(map(chr, names["Net"]().letters.int().tolist())).split("\n")


def of_convoy(bodies, folder):
    (folder / "net.py").write_text(program_of(bodies))
    np.save(folder / "x.npy", np.zeros(1, np.float32))
    convoy("run", f"{folder / 'net.py'}:Net", "--input", folder / "x.npy", "-o", folder / "y.npy", "-f")
    return "".join(map(chr, np.load(folder / "y.npy").astype(int))).split("\n")


def expect_same(bodies, folder):
    for start in range(0, len(bodies), 100):
        some = bodies[start : start + 100]
        wanted, got = of_python(some), of_convoy(some, folder)
        assert len(got) == len(some)
        apart = [f"{body}\n  wanted {w}\n  got    {g}" for body, w, g in zip(some, wanted, got, strict=True) if w != g]
        assert not apart, "\n".join(apart)


def bodies_of(expressions):
    return [f"return {line}" for line in expressions.strip().split("\n")]


def test_expressions(tmp_path):
    expect_same(bodies_of(EXPRESSIONS), tmp_path)


def test_programs(tmp_path):
    expect_same([one.strip("\n") for one in PROGRAMS.split("\n---\n")], tmp_path)


@pytest.mark.parametrize("expressions", [OF_ARRAYS, OF_TENSORS], ids=["arrays", "tensors"])
def test_arrays_and_tensors(expressions, tmp_path):
    expect_same(bodies_of(expressions), tmp_path)


class Drawn:
    """Random expressions of numbers, texts and lists that CPython computes without an error."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, depth):
        r = self.random
        if depth == 0:
            return r.choice(["0", "1", "2", "3", "7", "-1", "-5", "12", "0.1", "-0.5", "2.5", "1e16", "True", "2**53", "1/3", "0.0"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        return r.choice([
            f"({a} {r.choice(['+', '-', '*', '/', '//', '%'])} {b})", f"({a} if {b} else 3)", f"max({a}, {b})", f"min({a}, {b})",
            f"abs({a})", f"round({a})", f"round({a}, {r.randint(-2, 3)})", f"int({a})", f"float({a})", f"({a}) ** 2", f"(-{a})",
            f"math.floor({a})", f"math.ceil({a})", f"divmod({a}, {b})[{r.randint(0, 1)}]", f"({a} and {b})", f"({a} or {b})",
            f"len({self.listed(depth - 1)})", f"sum({self.listed(depth - 1)})", f"({a} {r.choice(['<', '<=', '==', '!=', '>'])} {b})",
            f"(int({a}) {r.choice(['&', '|', '^', '>>'])} {r.randint(0, 5)})", f"[{a}, {b}].index({b})"])  # fmt: skip

    def listed(self, depth):
        r = self.random
        if depth == 0:
            return r.choice(["[]", "[1, 2.5, -3]", "list(range(5))", "[0.1, True, 7]", "[3, 1, 2]"])
        a = self.listed(depth - 1)
        cut = ":".join(r.choice(["", "1", "-1", "2", "-3"]) for _ in range(2)) + r.choice(["", ":2", ":-1", ":-2"])
        return r.choice([
            f"{a}[{cut}]", f"sorted({a})", f"sorted({a}, key=lambda v: -v)", f"sorted({a}, key=lambda v: v % 2, reverse=True)",
            f"[v * 2 for v in {a} if v]", f"({a} + {self.listed(depth - 1)})", f"{a} * 2", f"list(reversed({a}))",
            f"[v // 2 for v in {a}]", f"list(map(lambda v: v / 3, {a}))", f"list(accumulate({a}))", f"[*{a}, {self.number(0)}]",
            f"list({{v: 0 for v in {a}}})"])  # fmt: skip

    def text(self, depth):
        r = self.random
        a = self.number(depth)
        how = r.choice(["", ":.2f", ":8.3f", ":<8", ":>8", ":^9", ":+.1e", ":g", ":.3g", ":08.2f", ":,.1f", ":.0f", "!r", ":%"])
        return r.choice([f"f'{{{a}{how}}}'", f"str({a})", f"repr({self.listed(depth)})", f"'%.3f|%5.1f|%g' % ({a}, {a}, {a})"])


def is_plain(body):
    try:
        answer = of_python([body])[0]
    except (SyntaxError, RecursionError):
        return False
    return not answer.startswith("raises") and "j)" not in answer and not any(len(word) > 18 for word in answer.split("."))


# Whole numbers have 64 bits, and powers of fractions below 0 are no real numbers.
REFUSED = ("largest whole number", "too large", "a complex number")


def test_drawn_expressions(tmp_path):
    drawn = Drawn(20261129)
    bodies = []
    while len(bodies) < 400:
        body = "return " + drawn.random.choice([drawn.number, drawn.listed, drawn.text])(drawn.random.randint(1, 3))
        if is_plain(body):
            bodies.append(body)
    read = [body for body in bodies if is_read(body, tmp_path)]
    assert len(read) > 350
    expect_same(read, tmp_path)


def is_read(body, folder):
    (folder / "net.py").write_text(program_of([body]))
    done = convoy("summary", f"{folder / 'net.py'}:Net", "--shape", "1", code=None)
    assert done.returncode == 0 or any(why in done.stderr for why in REFUSED), done.stderr
    return done.returncode == 0
