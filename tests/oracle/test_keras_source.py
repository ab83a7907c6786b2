"""Keras source written from the PyTorch and the Keras corpus: it compiles, checks itself in real Keras, and answers what
the stored outputs say at every stored size."""
import json
import os
import py_compile
import subprocess
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pytest
from carrying import Crossing, assert_close, cases_in, check_itself, convoy, import_file

TORCH, KERAS = cases_in("corpus/torch"), cases_in("corpus/keras")
TOLERANCE = 2e-5
LONGEST_LINE = 120

pytestmark = pytest.mark.skipif(TORCH is None or KERAS is None, reason="no corpus beside the project")


def torch_names() -> list[str]:
    return [] if TORCH is None else sorted(f.parent.name for f in TORCH.glob("*/model.pt2"))


def keras_files() -> list[str]:
    files = [] if KERAS is None else [f for f in KERAS.glob("*/*") if f.suffix == ".keras" or f.name == "model.h5"]
    return sorted(f"{f.parent.name}/{f.name}" for f in files)


def written(source, path) -> dict:
    """The report of a port to source; skips what convoy refuses by name."""
    done = convoy("port", source, "--to", "keras", "-o", path, "--json", code=None)
    if done.returncode in (5, 6):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    text = path.read_text()
    assert max(map(len, text.splitlines())) <= LONGEST_LINE, path
    py_compile.compile(str(path), cfile=str(path.with_suffix(".pyc")), doraise=True)
    return json.loads(done.stdout)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("name", torch_names())
def test_from_torch(name, tmp_path):
    report = written(TORCH / name / "model.pt2", tmp_path / "net.py")
    assert "agrees with model.pt2" in check_itself(tmp_path / "net.py")
    model = import_file(tmp_path / "net.py").load()
    inputs, outputs = ([Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs"))
    case = json.loads((TORCH / name / "case.json").read_text())
    for row in case["sets"]:
        x = [np.load(TORCH / name / f"input{row}_{i}.npy") for i in range(len(case["inputs"]))]
        want = [np.load(TORCH / name / f"output{row}_{i}.npy") for i in range(len(case["outputs"]))]
        passed = [crossing.to_port(one) for crossing, one in zip(inputs, x, strict=True)]
        y = model(passed[0] if len(passed) == 1 else passed, training=False)
        answers = list(y) if isinstance(y, (tuple, list)) else [y]
        got = [crossing.from_port(np.asarray(one)) for crossing, one in zip(outputs, answers, strict=True)]
        assert_close(got, want, TOLERANCE, name)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("file", keras_files())
def test_from_keras(file, tmp_path):
    written(KERAS / file, tmp_path / "net.py")
    assert "agrees with" in check_itself(tmp_path / "net.py")


def test_runs_by_itself_and_tells_other_weights(tmp_path):
    name = next(n for n in torch_names() if n.startswith("net_"))
    written(TORCH / name / "model.pt2", tmp_path / "net.py")
    done = subprocess.run([sys.executable, "net.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "agrees with model.pt2" in done.stdout, done.stderr
    with open(tmp_path / "net.weights.h5", "ab") as weights:
        weights.write(b"x")
    done = subprocess.run([sys.executable, "net.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and "SHA-256 differs" in done.stderr, done.stderr
