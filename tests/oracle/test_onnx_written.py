"""Every Keras model of the corpus as ONNX: accepted by onnx.checker with its shape inference, and answered by ONNX Runtime
as Keras did, unoptimized and as users run it, at both sizes; the same input gives the same bytes."""
import json

import numpy as np
import pytest
from carrying import Crossing, assert_close, cases_in, convoy

CORPUS = cases_in("corpus/keras")
# What convoy refuses by name so far: docs/coverage.md says why.
MAY_BE_REFUSED = {"bfloat16_weights"}
TOLERANCE = 2e-4  # across formats, as the corpus itself was checked


def models() -> list[str]:
    return [] if CORPUS is None else sorted(f.parent.name for f in CORPUS.glob("*/model.keras"))


pytestmark = pytest.mark.skipif(CORPUS is None, reason="no corpus: neither beside the project nor in tests/data")


def crossings_of(report: dict) -> dict[str, list[Crossing]]:
    return {side: [Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs")}


def session(path, optimized: bool):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", models())
def test_keras_model(name, tmp_path):
    import onnx

    case = json.loads((CORPUS / name / "case.json").read_text())
    path = tmp_path / "model.onnx"
    done = convoy("port", CORPUS / name / "model.keras", "-o", path, "--no-proof", "--json", code=None)
    if done.returncode == 6:
        assert case.get("refuse") or name in MAY_BE_REFUSED, done.stderr
        assert not path.exists()
        return
    assert done.returncode == 0, done.stderr
    assert not case.get("refuse"), "a model with foreign code was written"
    onnx.checker.check_model(str(path), full_check=True)

    again = tmp_path / "again.onnx"
    convoy("port", CORPUS / name / "model.keras", "-o", again, "--no-proof")
    assert path.read_bytes() == again.read_bytes(), "two runs give two files"

    report = json.loads(done.stdout)
    crossings = crossings_of(report)
    for optimized in (False, True):
        runtime = session(path, optimized)
        for row in case["sets"]:
            inputs = [np.load(CORPUS / name / f"input{row}_{i}.npy") for i in range(len(case["inputs"]))]
            want = [np.load(CORPUS / name / f"output{row}_{i}.npy") for i in range(len(case["outputs"]))]
            feed = {c.name: c.to_port(x) for c, x in zip(crossings["inputs"], inputs, strict=True)}
            got = [c.from_port(y) for c, y in zip(crossings["outputs"], runtime.run(None, feed), strict=True)]
            assert_close(got, want, TOLERANCE, f"{name}{row}, {'optimized' if optimized else 'as written'}")
