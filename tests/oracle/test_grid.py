"""Random calls of every framework, answered by the framework and by golden: a sample, 22,000 with FULL=1, or GRID=N.

The seed is SEED; tests/oracle/grid/run.py repeats a run and keeps the smallest disagreement.
"""
import os
import sys
from pathlib import Path

import pytest
from carrying import FULL

sys.path.insert(0, str(Path(__file__).parent / "grid"))

from run import GOLDEN, run  # noqa: E402

# Calls of each framework: in a sample of a minute, and in full.
SHARES = {"torch": (1200, 9000), "keras": (300, 3500), "tensorflow": (600, 4500), "onnx": (900, 5000), "tflite": (40, 300)}
ALL = sum(full for _, full in SHARES.values())


def count(framework):
    sample, full = SHARES[framework]
    if "GRID" in os.environ:
        return max(1, int(os.environ["GRID"]) * full // ALL)
    return full if FULL else sample


@pytest.mark.parametrize("framework", SHARES)
def test_random_calls_get_the_frameworks_answer(framework, capsys):
    assert GOLDEN.exists(), "build/release/golden is not built: make build"
    outcome = run(framework, count(framework), os.environ.get("SEED", "0"))
    with capsys.disabled():
        print("\n" + outcome.report())
    assert outcome.agreed > 0
    assert not outcome.differences, outcome.report()


def test_a_disagreement_is_found_and_made_small(tmp_path):
    """A checker that takes every strided answer for wrong: one number above the least is left of the settings."""
    checker = tmp_path / "checker.py"
    checker.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        "for line in open(sys.argv[-1]):\n"
        "    case = json.loads(line)\n"
        "    stride = case['attrs'].get('stride', [1])\n"
        "    if 'output' in case and max(stride) > 1:\n"
        "        print(f\"failed  {case['id']}: strided\\n        {case['call']}\")\n"
        "sys.exit(1)\n"
    )
    checker.chmod(0o755)
    outcome = run("torch", 40, "3", checker)
    strided = [one for one in outcome.differences if one["kind"] == "conv" and one.get("smallest")]
    assert strided and outcome.agreed > 0
    attrs = strided[0]["smallest"]["line"]["attrs"]
    assert attrs["stride"] == [2] and attrs["dilation"] == [1] and attrs["groups"] == 1
