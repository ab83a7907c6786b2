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
    convoy("port", folder / "m.onnx", "-o", folder / file, "--to", "keras", "--interface", "source", "--force")
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


def test_indices_that_may_be_fewer_reach_the_first_cells(tmp_path):
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], axis=2)
    save(tmp_path / "m.onnx", node, {"x": ("f4", [3, 4, 5]), "i": ("i8", ["N", 2, 1])}, {"y": ("f4", ["N", 2, 1])})
    random = np.random.default_rng(0)
    for rows in (3, 2):
        agree(tmp_path, "port.keras", {"x": random.standard_normal((3, 4, 5)).astype("f4"), "i": random.integers(0, 5, (rows, 2, 1))})


ALTERNATING = {"x": [2, 1, 3, 1, 2, 1, 2], "z": [1, 3, 1, 2, 1, 3, 1]}


@pytest.mark.parametrize("operator", ["Mul", "Sub", "Less", "Max", "Where"])
def test_operands_that_stretch_over_many_groups_of_axes(operator, tmp_path):
    """TensorFlow's kernels broadcast over five groups of axes that alternate, a choice over eight."""
    random = np.random.default_rng(2)
    given = {name: random.integers(-4, 5, shape).astype("f4") for name, shape in ALTERNATING.items()}
    inputs = {name: ("f4", shape) for name, shape in ALTERNATING.items()}
    if operator == "Where":
        given = {"c": given["x"] > 0} | given
        inputs = {"c": ("b1", ALTERNATING["x"])} | inputs
    node = helper.make_node(operator, list(given), ["y"])
    save(tmp_path / "m.onnx", node, inputs, {"y": ("b1" if operator == "Less" else "f4", [2, 3, 3, 2, 2, 3, 2])})
    agree(tmp_path, "port.keras", given)


def test_slopes_over_many_groups_of_axes_are_refused(tmp_path):
    slope = np.arange(1, 13, dtype="f4").reshape(1, 3, 1, 2, 1, 2)
    save(tmp_path / "m.onnx", helper.make_node("PRelu", ["x", "slope"], ["y"]), {"x": ("f4", [2, 3, 3, 2, 2, 2])},
         {"y": ("f4", [2, 3, 3, 2, 2, 2])}, {"slope": slope})
    said = convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "p.keras", code=6).stderr
    assert "slopes that stretch over more than five groups of axes" in said


WIDEST = {"u1": 255, "u2": 2**16 - 1, "u4": 2**32 - 1, "u8": 2**64 - 1, "i1": -7, "i2": -300, "i4": -70000, "i8": -(2**40)}


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "i1", "i2", "i4", "i8"])
@pytest.mark.parametrize("operator", ["BitwiseNot", "Sign", "Abs"])
def test_a_function_of_whole_numbers_keeps_their_type(operator, kind, tmp_path):
    node = helper.make_node(operator, ["x"], ["y"])
    save(tmp_path / "m.onnx", node, {"x": (kind, ["N", 4])}, {"y": (kind, ["N", 4])}, opset=18)
    agree(tmp_path, "port.py", {"x": np.array([[1, 0, 9, WIDEST[kind]]], kind)})


@pytest.mark.parametrize("kind", ["u1", "u2", "u4"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("operand", ["given", "stored", "number"])
def test_bits_are_shifted_in_their_own_type(direction, kind, operand, tmp_path):
    x, by = np.array([[1, WIDEST[kind], 16, 7]], kind), np.array([[1, 3, 2, 0]], kind)
    if operand == "number":
        by = by[0, 1]
    node = helper.make_node("BitShift", ["x", "by"], ["y"], direction=direction)
    inputs = {"x": (kind, ["N", 4])} | ({"by": (kind, ["N", 4])} if operand == "given" else {})
    save(tmp_path / "m.onnx", node, inputs, {"y": (kind, ["N", 4])}, None if operand == "given" else {"by": by})
    # ONNX Runtime shifts 16 bits nowhere.
    if kind == "u2":
        convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "port.py", "--to", "keras", "--interface", "source")
        given = [x] if operand != "given" else [x, by]
        wanted = x << by if direction == "LEFT" else x >> by
        np.testing.assert_array_equal(answer_of(tmp_path / "port.py", given), wanted)
        return
    agree(tmp_path, "port.py", {"x": x} | ({"by": by} if operand == "given" else {}))


@pytest.mark.parametrize("operator,inputs", [("Sign", "x"), ("Add", "xz"), ("Max", "xz"), ("BitwiseXor", "xz")])
def test_uint64_is_refused_where_keras_makes_uint32_of_it(operator, inputs, tmp_path):
    node = helper.make_node(operator, list(inputs), ["y"])
    save(tmp_path / "m.onnx", node, {name: ("u8", ["N", 4]) for name in inputs}, {"y": ("u8", ["N", 4])}, opset=18)
    said = convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "port.py", "--to", "keras", code=6).stderr
    assert f"({operator}): computes with uint64, which Keras takes for uint32 there" in said


def test_what_a_program_says_of_an_arrays_type_is_read(tmp_path):
    """`convoy run` of it answers in that type, as Keras does."""
    (tmp_path / "net.py").write_text(
        "import keras\nimport numpy as np\nfrom keras import ops\n\n"
        'TABLE = np.array([1, 200, 4], dtype="uint8")\nx = keras.Input((3,), dtype="uint8", name="x")\n'
        "model = keras.Model(x, ops.multiply(x, TABLE))\n"
    )
    x = np.array([[3, 2, 100]], "u1")
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "net.py", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    got = np.load(tmp_path / "y.npy")
    assert got.dtype == np.uint8 and got.tolist() == [[3, 144, 144]]


@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("target", ["torch", "keras"])
def test_a_product_of_whole_numbers_stops_where_onnx_runtimes_does(target, kind, tmp_path):
    """It is taken in float64; those of PyTorch and Keras wrap around."""
    node = helper.make_node("ReduceProd", ["x"], ["y"], axes=[1], keepdims=0)
    save(tmp_path / "m.onnx", node, {"x": (kind, ["N", 8])}, {"y": (kind, ["N"])})
    x = np.array([np.arange(1, 9), [-3] * 8, [900] * 8, [-900] * 7 + [1], [0] + [900] * 7], kind)
    if kind == "i8":
        x[2:4] = 9  # what 64 bits do not hold is what a processor makes of it
    if target == "keras":
        return agree(tmp_path, "port.py", {"x": x})
    import torch

    wanted = plain_session(tmp_path / "m.onnx").run(None, {"x": x})[0]
    convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "port.py")
    spec = importlib.util.spec_from_file_location("port", tmp_path / "port.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    np.testing.assert_array_equal(module.load()(torch.from_numpy(x)).numpy(), wanted)


@pytest.mark.parametrize("file", WRITTEN)
@pytest.mark.parametrize("channels,strides,dilations,sizes", [
    (3, [2, 2], [2, 1], ["H", "W"]), (1, [2, 2], [2, 1], ["H", "W"]), (3, [2, 1], [3, 2], ["H", "W"]), (1, [1, 1], [2, 2], ["H", "W"]),
    (3, [2, 1], [2, 2], [5, 1]),
])  # fmt: skip
def test_a_dilated_average_of_what_lies_inside(channels, strides, dilations, sizes, file, tmp_path):
    """Also where all taps of a window lie in the padding, which is an average of 0."""
    given = {"strides": strides, "dilations": dilations, "kernel_shape": [3, 2], "pads": [1, 1, 1, 1]}
    node = helper.make_node("AveragePool", ["x"], ["y"], **given)
    save(tmp_path / "m.onnx", node, {"x": ("f4", ["N", channels, *sizes])}, {"y": ("f4", ["N", channels, None, None])}, opset=19)
    x = np.random.default_rng(0).standard_normal((2, channels, *([9, 8] if "H" in sizes else sizes))).astype("f4")
    wanted = plain_session(tmp_path / "m.onnx").run(None, {"x": x})[0]
    convoy("port", tmp_path / "m.onnx", "-o", tmp_path / file, "--to", "keras", "--interface", "source")
    np.testing.assert_allclose(answer_of(tmp_path / file, [x]), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("file", WRITTEN)
def test_lookups_of_free_axes_whether_both_are_as_long_or_not(file, tmp_path):
    """take_along_axis stretches the other axes, where ONNX looks into the first cells alone."""
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], axis=1)
    save(tmp_path / "m.onnx", node, {"x": ("f4", ["N", "T", "C"]), "i": ("i8", ["N", "K", "D"])}, {"y": ("f4", ["N", "K", "D"])})
    random = np.random.default_rng(1)
    for k, d in ((4, 2), (1, 1), (7, 3)):
        agree(tmp_path, file, {"x": random.standard_normal((2, 7, 3)).astype("f4"), "i": random.integers(0, 7, (2, k, d))})
    nodes = [helper.make_node("ArgMax", ["x"], ["i"], axis=1), helper.make_node("GatherElements", ["x", "i"], ["y"], axis=1)]
    values = [[helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["N", s, "C"])] for n, s in (("x", "T"), ("y", 1))]
    graph = helper.make_graph(nodes, "g", *values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    agree(tmp_path, file, {"x": np.random.default_rng(0).permutation(42).reshape(2, 7, 3).astype("f4")})
