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


@pytest.mark.sampled(90)
@pytest.mark.parametrize("name, target", crossings())
def test_port(name, target, tmp_path):
    verdict, why = judge(ROWS[name], target, tmp_path)
    if verdict == "refused":
        pytest.skip(why)
    reason = next((line[2] for line in KNOWN if line[0] in ("*", target) and name.startswith(line[1])), None)
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
