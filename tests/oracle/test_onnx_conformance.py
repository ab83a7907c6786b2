"""The node tests of the installed onnx package, made by its own loader, through tests/conformance: none may fail, and what
is refused is refused for a reason that says so."""
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from carrying import ROOT

PROGRAM = ROOT / "build" / "release" / "conformance"
# Tests that say otherwise than ONNX Runtime, whose reading convoy shares, are named in tests/conformance/main.cpp.
LEAST_PASSED = 1616


def as_tensor(value, name: str) -> onnx.TensorProto | None:
    if isinstance(value, onnx.TensorProto):
        return value
    if value is None or isinstance(value, (list, dict)):  # optional values, sequences and maps
        return None
    return onnx.numpy_helper.from_array(np.asarray(value), name)


def write(folder: Path) -> int:
    """One folder for each case whose inputs and outputs are tensors; how many there are."""
    from onnx.backend.test.case.model import collect_testcases as models
    from onnx.backend.test.case.node import collect_testcases as nodes

    count = 0
    for case in [*nodes(None), *models()]:
        if case.kind not in ("node", "simple") or case.model is None or not case.data_sets:
            continue
        home = folder / case.name
        for i, (inputs, outputs) in enumerate(case.data_sets):
            data = home / f"test_data_set_{i}"
            data.mkdir(parents=True, exist_ok=True)
            graph = case.model.graph
            for word, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
                for j, (value, info) in enumerate(zip(values, infos, strict=False)):
                    tensor = as_tensor(value, info.name)
                    if tensor is not None:
                        (data / f"{word}_{j}.pb").write_bytes(tensor.SerializeToString())
        (home / "model.onnx").write_bytes(case.model.SerializeToString())
        count += 1
    return count


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    if not PROGRAM.exists():
        pytest.skip("build/release/conformance is not built")
    folder = tmp_path_factory.mktemp("onnx_tests")
    count = write(folder)
    done = subprocess.run([str(PROGRAM), str(folder)], capture_output=True, text=True, timeout=900)
    return count, done


def test_no_node_test_fails(answer):
    count, done = answer
    passed, refused, failed = map(int, re.search(r"(\d+) passed, (\d+) refused, (\d+) failed", done.stdout).groups())
    print(done.stdout)
    assert failed == 0, "\n".join(line for line in done.stdout.splitlines() if line.startswith("failed"))
    assert passed >= LEAST_PASSED, f"{passed} passed of {count}"
    assert passed + refused <= count


def test_pytorch_exports_of_operator_set_6_are_right():
    brought = Path(onnx.__file__).parent / "backend/test/data"
    done = subprocess.run([str(PROGRAM), *(str(brought / f) for f in ("pytorch-converted", "pytorch-operator"))], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "117 passed, 0 refused, 0 failed", done.stdout


def test_refusals_say_why(answer):
    for line in answer[1].stdout.splitlines():
        if line.startswith("refused"):
            reason = line.split(": ", 1)[1]
            assert reason.strip() and "internal" not in reason.lower(), line
