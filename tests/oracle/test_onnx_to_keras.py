"""Operators of ONNX where Keras's of the same name means less or something else: `.keras` and source, against ONNX Runtime."""
import importlib.util

import keras
import numpy as np
import onnx
import pytest
from carrying import convoy, plain_session
from onnx import helper, numpy_helper

WRITTEN = ["port.keras", "port.py"]


def save(path, node, inputs, results, constants=None, opset=17):
    """Inputs and results: name -> (element type, sizes)."""
    kinds = {name: helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for name, (kind, _) in {**inputs, **results}.items()}
    values = [[helper.make_tensor_value_info(n, kinds[n], sizes) for n, (_, sizes) in side.items()] for side in (inputs, results)]
    stored = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph([node], "g", *values, stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)


def answer_of(path, given):
    """What Keras answers, from a file or from source."""
    if path.suffix == ".keras":
        model = keras.saving.load_model(path, compile=False)
    else:
        spec = importlib.util.spec_from_file_location("port", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        model = module.load()
    return np.asarray(model(given if len(given) > 1 else given[0]))


def agree(folder, file, given):
    wanted = plain_session(folder / "m.onnx").run(None, given)[0]
    convoy("port", folder / "m.onnx", "-o", folder / file, "--to", "keras", "--interface", "source")
    got = answer_of(folder / file, list(given.values()))
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("file", WRITTEN)
@pytest.mark.parametrize(
    "data,indices,axis,stored",
    [
        ([3, 4, 5], [2, 6, 3], 1, False),
        ([3, 4, 5], [1, 6, 5], 1, False),
        ([3, 4, 5], [2, 6, 3], 1, True),
        (["N", 3, 6, 7], ["N", 2, 5, 7], 2, False),
        (["N", 4, 5], [2, 6, 3], 1, False),
    ],
)
def test_fewer_indices_than_numbers_are_looked_up_among_the_first(data, indices, axis, stored, file, tmp_path):
    rng = np.random.default_rng(0)
    sizes, places = ([3 if n == "N" else n for n in shape] for shape in (data, indices))
    x, i = rng.standard_normal(sizes).astype("f4"), rng.integers(0, sizes[axis], places)
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], axis=axis)
    inputs = {"i": ("i8", indices)} if stored else {"x": ("f4", data), "i": ("i8", indices)}
    save(tmp_path / "m.onnx", node, inputs, {"y": ("f4", indices)}, {"x": x} if stored else None)
    agree(tmp_path, file, {"i": i} if stored else {"x": x, "i": i})


def test_indices_that_may_be_fewer_are_refused(tmp_path):
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], axis=2)
    save(tmp_path / "m.onnx", node, {"x": ("f4", [3, 4, 5]), "i": ("i8", ["N", 2, 1])}, {"y": ("f4", ["N", 2, 1])})
    said = convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "p.keras", code=6).stderr
    assert "indices may be fewer than the numbers along axis 0" in said
