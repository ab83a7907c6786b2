"""ONNX's own tests as a user runs them, `convoy run` on each with its stored inputs: those that the installed package makes (nodes,
also expanded into other operators, and small models), those that it brings (PyTorch's of operator set 6), and Debian's
(libonnx-testdata) where it is installed. None may answer wrongly or end as a fault; what is refused is refused in words."""
import collections
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from carrying import CONVOY
from test_onnx_conformance import write

BROUGHT = Path(onnx.__file__).parent / "backend/test/data"
DEBIAN = Path("/usr/share/libonnx-testdata/data")
# Whose stored numbers ONNX Runtime contradicts, for the reasons told in tests/conformance/main.cpp.
CONTRADICTED = {
    "test_maxunpool_export_with_output_shape",
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners",
}
# Of Debian's, whose second input has another shape than its model says.
OF_ANOTHER_SHAPE = {f"test_castlike_{pair}{way}" for pair in ("BFLOAT16_to_FLOAT", "FLOAT_to_BFLOAT16") for way in ("", "_expanded")}
LEAST_RIGHT = {"made": 1613, "brought": 124, "debian": 983}


def array_of(file: Path, info: onnx.ValueInfoProto | None) -> np.ndarray:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(file.read_bytes())
    # Older tests hold the bits of bfloat16.
    if info is not None and info.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
        tensor.data_type = onnx.TensorProto.BFLOAT16
    return onnx.numpy_helper.to_array(tensor)


def stored(array: np.ndarray) -> np.ndarray:
    """numpy's files have no name for ml_dtypes' numbers."""
    return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array


def differs(got: np.ndarray, want: np.ndarray) -> str | None:
    if got.shape != want.shape:
        return f"has shape {got.shape}, wanted {want.shape}"
    halves = want.dtype in (np.float16, ml_dtypes.bfloat16)  # each rounded once, the tests' by steps
    if want.dtype != ml_dtypes.bfloat16 and got.dtype != want.dtype:
        return f"is of {got.dtype}, wanted {want.dtype}"
    if not (halves or np.issubdtype(want.dtype, np.floating)):
        return None if np.array_equal(got, want) else f"is {got.ravel()[:9]}, wanted {want.ravel()[:9]}"
    got, want = got.astype(np.float64), want.astype(np.float64)
    # The tests' own bounds (onnx.backend.test.loader): many store numbers of a formula in single precision.
    bound = dict(rtol=2e-2, atol=1e-3) if halves else dict(rtol=1e-3, atol=1e-7)
    close = np.isclose(got, want, equal_nan=True, **bound)
    scale = max([1.0, *np.abs(want[np.isfinite(want)]).ravel()])
    close |= np.abs(np.where(close, 0, got - want)) <= 2e-6 * scale
    at = np.flatnonzero(~close.ravel())
    return f"element {at[0]} is {got.ravel()[at[0]]}, wanted {want.ravel()[at[0]]}" if len(at) else None


def answer_of(home: Path, scratch: Path) -> tuple[str, str]:
    """'right', 'refused' or 'wrong', and why."""
    graph = onnx.load(home / "model.onnx", load_external_data=False).graph
    initialized = {t.name for t in graph.initializer}
    given = [i for i in graph.input if i.name not in initialized]
    names = [i.name for i in given]
    sets = sorted(home.glob("test_data_set_*"))
    for data in sets:
        try:
            inputs = [array_of(data / f"input_{i}.pb", given[i]) for i in range(len(list(data.glob("input_*.pb"))))]
            wanted = [array_of(data / f"output_{i}.pb", graph.output[i]) for i in range(len(list(data.glob("output_*.pb"))))]
        except Exception:  # sequences, optional values: only what convoy says of them is looked at
            inputs = wanted = None
        arguments = []
        for i, (name, x) in enumerate(zip(names, inputs or [])):
            file = scratch / f"{home.name}_{i}.npy"
            if x.dtype.kind == "O" or (x.dtype.kind in "Vf" and x.dtype.itemsize == 1):  # texts, and what numpy has no files of
                inputs = None
                break
            np.save(file, stored(x), allow_pickle=False)
            arguments += ["--input", f"{name}={file}"]
        out = scratch / f"{home.name}.npz"
        if inputs is None:
            arguments = []
        done = subprocess.run([CONVOY, "run", home / "model.onnx", *arguments, "-f", "-o", out], capture_output=True, text=True)
        said = done.stderr.strip().splitlines()
        if done.returncode == 6 and said:
            return "refused", said[-1]
        if inputs is None and done.returncode in (2, 4):
            return "refused", "holds values that are no tensors"
        if done.returncode != 0:
            return "wrong", f"exit code {done.returncode}: {done.stderr.strip()}"
        if wanted is None:
            return "wrong", "answered with inputs that were not given"
        with np.load(out) as several:
            got = [several[name] for name in several.files]
        if len(got) != len(wanted):
            return "wrong", f"{len(got)} outputs, wanted {len(wanted)}"
        for g, w in zip(got, wanted):
            if said := differs(g, w):
                return "wrong", said
    return ("right", "") if sets else ("refused", "brings no data")


@pytest.fixture(scope="module")
def homes(tmp_path_factory) -> dict[str, list[Path]]:
    made = tmp_path_factory.mktemp("made")
    write(made)
    return {
        name: [
            f.parent
            for f in sorted(folder.glob("**/model.onnx"))
            if f.parent.name not in CONTRADICTED | (OF_ANOTHER_SHAPE if name == "debian" else set())
        ]
        for name, folder in {"made": made, "brought": BROUGHT, "debian": DEBIAN}.items()
    }


@pytest.mark.parametrize("source", LEAST_RIGHT)
def test_node_tests_are_right_or_refused(source, homes, tmp_path):
    if not homes[source]:
        pytest.skip("is not installed")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = dict(zip(homes[source], pool.map(lambda home: answer_of(home, tmp_path), homes[source])))
    wrong = [f"{home.name}: {why}" for home, (verdict, why) in answers.items() if verdict == "wrong"]
    refused = collections.Counter(re.sub(r"^.*?model.onnx: (?:node '[^']*' )?", "", why) for v, why in answers.values() if v == "refused")
    right = sum(verdict == "right" for verdict, _ in answers.values())
    print(f"{source}: {right} right, {sum(refused.values())} refused, {len(wrong)} wrong of {len(answers)}")
    for why, count in refused.most_common():
        print(f"  {count:4} {why}")
    assert not wrong, "\n".join(wrong)
    assert right >= LEAST_RIGHT[source], f"{right} right of {len(answers)}"
