"""Models at the edges of what operators mean, carried to the other frameworks, which answer what the model's own did; and the
kept answers are still what the frameworks say."""
import sys
from pathlib import Path

import numpy as np
import pytest
from carrying import ROOT

sys.path.insert(0, str(Path(__file__).parent / "semantics"))
from ports import ENDS, array_of, difference, family, judge, rows  # noqa: E402  the folder of its own


def known() -> list[list[str]]:
    lists = (ROOT / "tests" / "data" / "semantics" / name for name in ("known.tsv", "known_in_targets.tsv"))
    return [line.split("\t") for file in lists for line in file.read_text().splitlines() if not line.startswith("#")]


KNOWN = known()
ROWS = {row["id"]: row for row in rows()}


def crossings() -> list[tuple[str, str]]:
    return [(name, target) for name, row in ROWS.items() for target in ENDS if target != family(row)]


# What the target adds up, compares, orders or bounds otherwise unless it is told, or not at all: whole numbers above all.
TOLD = [
    ("keras: ops.cumsum(x, -1) uint8", "torch"), ("keras: ops.cumprod(x, -1) int32", "torch"), ("keras: ops.prod(x, -1) int32", "torch"),
    ("keras: ops.sum(x, -1) uint8", "torch"), ("keras: ops.prod(x, -1) uint8", "torch"), ("onnx: CumSum(exclusive=1, reverse=1) int32", "torch"),
    ("torch: torch.min(x, 1) bool", "torch"), ("torch: torch.min(x, 1) bool", "onnx"), ("torch: torch.maximum(x, ~x) bool", "onnx"),
    ("keras: ops.cumsum(x, -1) uint8", "onnx"), ("keras: ops.cumsum(x, -1) bool", "onnx"), ("keras: ops.sum(x, -1) uint8", "onnx"),
    ("keras: ops.prod(x, -1) uint8", "onnx"), ("torch: x.int() @ y.int()", "onnx"), ("torch: x.int() @ y.int()", "torch"),
    ("torch: torch.sort(x, 1) int32", "keras"), ("onnx: TopK(axis=1, largest=0, k=4) int32", "keras"), ("torch: F.normalize(x, p=1.0, dim=1) ties", "keras"),
    ("torch: 2 ** x.clamp(0, 5) int32", "keras"), ("torch: 2 ** x.clamp(0, 5) uint8", "onnx"), ("tensorflow: tf.reduce_mean(x, -1) int32", "torch"),
    ("torch: torch.logsumexp(x, 1) odd", "torch"), ("torch: torch.logsumexp(x, 1) odd", "keras"), ("torch: torch.argsort(x, dim=1, stable=True) ties", "onnx"),
    ("keras: ops.clip(x, -2, 3) int32", "keras"), ("onnx: Clip(1) uint8", "keras"), ("onnx: Clip(-2, 3) int32_far", "keras"),
    ("torch: -x uint8", "keras"), ("torch: -x uint8", "onnx"), ("torch: torch.sort(x, dim=1, descending=True, stable=True) bool", "keras"),
    ("torch: x.int() @ y.int()", "keras"), ("keras: x // -2 int32_far", "onnx"), ("keras: ops.floor_divide(x, 3) int32_far", "onnx"),
    ("torch: torch.relu(x) uint8", "onnx"), ("keras: ops.relu(x) uint8", "onnx"), ("torch: torch.maximum(x, ~x) bool", "keras"),
]  # fmt: skip


@pytest.mark.parametrize("name, target", TOLD)
def test_told(name, target, tmp_path):
    assert judge(ROWS[name], target, tmp_path) == ("passed", "")


@pytest.mark.sampled(90)
@pytest.mark.parametrize("name, target", crossings())
def test_port(name, target, tmp_path):
    verdict, why = judge(ROWS[name], target, tmp_path)
    if verdict == "refused":
        pytest.skip(why)
    reason = next((line[2] for line in KNOWN if (line[0] == "*" or target in line[0].split(",")) and name.startswith(line[1])), None)
    if verdict == "failed" and reason:
        pytest.xfail(reason)
    assert verdict == "passed", why


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", sorted(name for name in ROWS if family(ROWS[name]) != "keras"))
def test_answer_is_the_frameworks(name):
    row = ROWS[name]
    module = __import__(f"{family(row)}_rows")
    got = module.answer(row["model"], [array_of(x) for x in row["inputs"]])
    for one, want in zip(got, row["outputs"], strict=True):
        assert difference(np.asarray(one), array_of(want)) is None
