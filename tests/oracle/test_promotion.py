"""Operands of unlike element types: what PyTorch and Keras promote them to, in every pair of types, run natively and carried.

One model for each pair of types, with an output for each operation that the framework takes of them."""
import itertools
import json

import numpy as np
import pytest
import torch
from carrying import convoy, import_file

TYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]
PAIRS = list(itertools.product(TYPES, TYPES))
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


def drawn(dtype, seed):
    draw = np.random.default_rng(seed)
    if dtype == "bool":
        return draw.integers(0, 2, 12).astype(bool)
    if "float" in dtype:
        return (draw.standard_normal(12) * 3).astype(dtype)
    least = 1 if dtype == "uint8" else max(-1000, np.iinfo(dtype).min)
    numbers = draw.integers(least, min(1000, np.iinfo(dtype).max), 12)
    return np.where(numbers == 0, 3, numbers).astype(dtype)


def agree(name, got, want, roughest):
    assert str(got.dtype) == str(want.dtype), f"{name}: {got.dtype}, not {want.dtype}"
    tolerance = max(TOLERANCE.get(str(want.dtype), 0), TOLERANCE.get(roughest, 0) if "float" in str(want.dtype) else 0)
    np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), tolerance, tolerance, err_msg=name)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "floor": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "twice": lambda a, b: torch.add(a, b, alpha=2),
    "less": lambda a, b: a < b,
    "larger": torch.maximum,
    "chosen": lambda a, b: torch.where(a > 1, a, b),
    "bits": lambda a, b: a & b,
    "logarithm": lambda a, b: torch.xlogy(a, abs(b) + 1),
    "angle": torch.atan2,
    "sign": torch.copysign,
    "joined": lambda a, b: torch.cat([a, b]),
    "turned": lambda a, b: torch.rsub(a, b, alpha=3),
    "shared": lambda a, b: torch.addcmul(a, b, b, value=2),
}


class Both(torch.nn.Module):
    def __init__(self, names):
        super().__init__()
        self.names = names

    def forward(self, a, b):
        return tuple(OPERATIONS[name](a, b) for name in self.names)


def taken(a, b):
    """The operations that PyTorch has for these two."""
    names = []
    for name, operation in OPERATIONS.items():
        try:
            operation(a, b)
            names.append(name)
        except RuntimeError:
            continue
    return names


@pytest.mark.parametrize("first,second", PAIRS)
def test_pytorch(first, second, tmp_path):
    a, b = drawn(first, 1), drawn(second, 2)
    given = torch.from_numpy(a), torch.from_numpy(b)
    model = Both(taken(*given)).eval()
    want = dict(zip(model.names, (y.numpy() for y in model(*given)), strict=True))
    torch.export.save(torch.export.export(model, given), tmp_path / "m.pt2")
    torch.jit.save(torch.jit.trace(model, given), tmp_path / "m.pt")
    np.savez(tmp_path / "x.npz", a=a, b=b)
    for letter, x in zip("ab", (a, b)):
        np.save(tmp_path / f"{letter}.npy", x)
    for file in ("m.pt2", "m.pt"):
        inputs = [word for letter in "ab" for word in ("--input", f"{letter}={tmp_path / letter}.npy")]
        convoy("run", tmp_path / file, *inputs, "-o", tmp_path / "y.npz", "-f")
        with np.load(tmp_path / "y.npz") as answers:
            for name, file_name in zip(want, answers.files, strict=True):
                agree(f"{file} {name}", answers[file_name], want[name], first if "16" in first else second)
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "p.py")
    for name, y in zip(want, import_file(tmp_path / "p.py").load()(*given), strict=True):
        agree(f"port {name}", y.numpy(), want[name], first if "16" in first else second)


def test_numbers_in_front_of_whole_tensors(tmp_path):
    """As source, whose reader has them turn around."""
    (tmp_path / "net.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        return 2000000001 // x, 7 % x, 5.5 // x, 0.1 // x.double(), 2 ** (x * 0 + 3)\n"
    )
    x = np.array([1, 2, 7, -3], "int32")
    np.save(tmp_path / "x.npy", x)
    convoy("run", f"{tmp_path / 'net.py'}:Net", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npz")
    want = import_file(tmp_path / "net.py").Net()(torch.from_numpy(x))
    with np.load(tmp_path / "y.npz") as answers:
        for name, y in zip(answers.files, want, strict=True):
            agree(name, answers[name], y.numpy(), "")


def test_a_mask_as_the_lowest_number_is_the_same(tmp_path):
    """What overflows in float32 alone is infinite there: no difference."""

    class Mask(torch.nn.Module):
        def forward(self, x):
            return (1.0 - x) * torch.finfo(torch.float32).min

    torch.export.save(torch.export.export(Mask(), (torch.zeros(3, 5),)), tmp_path / "m.pt2")
    convoy("diff", tmp_path / "m.pt2", tmp_path / "m.pt2")
    for suffix in ("py", "onnx", "keras", "tflite"):
        convoy("port", tmp_path / "m.pt2", "-o", tmp_path / f"m.{suffix}")


# ---- Keras -------------------------------------------------------------------------------------------------------------


def keras_operations():
    from keras import ops

    return {
        "add": ops.add, "subtract": ops.subtract, "multiply": ops.multiply, "divide": ops.divide, "larger": ops.maximum,
        "less": ops.less, "chosen": lambda a, b: ops.where(ops.cast(a, "bool"), a, b), "floor": ops.floor_divide, "remainder": ops.mod,
        "product": lambda a, b: ops.matmul(ops.reshape(a, (3, 4)), ops.reshape(b, (4, 3))), "angle": ops.arctan2,
    }  # fmt: skip


def keras_functions():
    from keras import layers, ops

    return {
        "twice": lambda x: x * 2, "more": lambda x: x * 1.5, "next": lambda x: x + 1, "half": lambda x: 0.5 - x,
        "chosen_whole": lambda x: ops.where(ops.cast(x, "bool"), 2, x), "chosen": lambda x: ops.where(ops.cast(x, "bool"), 1.5, x),
        "square": ops.square, "sum": lambda x: ops.sum(x, 0), "running": lambda x: ops.cumsum(x, 0), "clip": lambda x: ops.clip(x, 0, 5),
        "finite": ops.isfinite, "triangle": lambda x: ops.tril(ops.reshape(x, (3, 4))), "sharp": lambda x: ops.logsumexp(x, 0),
        "bits": lambda x: ops.bitwise_and(x, 7), "rescaled": lambda x: layers.Rescaling(0.1, 3, dtype=x.dtype if "float" in x.dtype else "float32")(x),
    }  # fmt: skip


def held_by_keras(operations, types, tmp_path):
    """A model of what Keras takes and loads again; its answers by name."""
    import keras

    arrays = [drawn(dtype, seed) for seed, dtype in enumerate(types, 1)]
    inputs = [keras.Input(batch_shape=(12,), dtype=dtype, name="ab"[i]) for i, dtype in enumerate(types)]
    outputs = {}
    for name, operation in operations.items():
        try:
            outputs[name] = operation(*inputs)
            keras.Model(inputs, outputs[name])([keras.ops.convert_to_tensor(x) for x in arrays])
        except Exception:  # which kinds Keras raises is its own affair
            outputs.pop(name, None)
    model = keras.Model(inputs, list(outputs.values()))
    model.save(tmp_path / "m.keras")
    answers = model([keras.ops.convert_to_tensor(x) for x in arrays])
    for i, x in enumerate(arrays):
        np.save(tmp_path / f"{'ab'[i]}.npy", x)
    return [tmp_path / f"{'ab'[i]}.npy" for i in range(len(types))], dict(zip(outputs, map(np.asarray, answers), strict=True))


def run_of_keras(operations, types, tmp_path):
    from keras import ops

    operations = {**operations, "first": lambda a, *_: ops.cast(a, "float32")}  # so that there are two
    files, want = held_by_keras(operations, types, tmp_path)
    inputs = [word for file in files for word in ("--input", f"{file.stem}={file}")]
    convoy("run", tmp_path / "m.keras", *inputs, "-o", tmp_path / "y.npz")
    roughest = next((dtype for dtype in types if "16" in dtype), "")
    with np.load(tmp_path / "y.npz") as answers:
        for name, file in zip(want, answers.files, strict=True):
            agree(name, answers[file], want[name], roughest)


@pytest.mark.parametrize("first,second", [(a, b) for a, b in PAIRS if a <= b])
def test_keras(first, second, tmp_path):
    run_of_keras(keras_operations(), (first, second), tmp_path)


@pytest.mark.parametrize("dtype", TYPES)
def test_keras_beside_numbers(dtype, tmp_path):
    run_of_keras(keras_functions(), (dtype,), tmp_path)


@pytest.mark.parametrize("what", ["bits", "two_numbers", "fractions", "table"])
def test_what_is_written_for_keras_loads_and_keeps_its_types(what, tmp_path):
    import keras

    class Net(torch.nn.Module):
        def forward(self, x):
            if what == "bits":
                return (x & 7) | 1
            if what == "two_numbers":
                return torch.where(x > 0, 2, 3)
            return x * 3 - 1 if what == "fractions" else x + torch.arange(6)

    dtype = {"bits": torch.int16, "two_numbers": torch.float32, "fractions": torch.float64, "table": torch.float16}[what]
    x = (torch.arange(6) - 2).to(dtype)
    torch.export.save(torch.export.export(Net(), (x,)), tmp_path / "m.pt2")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.keras")
    want = Net()(x).numpy()
    got = np.asarray(keras.models.load_model(tmp_path / "m.keras")(x.numpy()))
    agree(what, got, want, "")


def test_types_have_their_limits_in_source(tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        a, b = torch.finfo(x.dtype), torch.finfo(torch.float16)\n"
        "        c, d = torch.iinfo(torch.int16), torch.iinfo(torch.uint8)\n"
        "        return x * a.min, x * a.eps, x + b.max, x + b.tiny, x + c.min, x + d.max + c.bits, x + torch.finfo(torch.bfloat16).eps\n"
    )
    x = np.array([1, 0.5, -0.25], "f4")
    np.save(tmp_path / "x.npy", x)
    convoy("run", f"{tmp_path / 'net.py'}:Net", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as answers:
        for name, y in zip(answers.files, import_file(tmp_path / "net.py").Net()(torch.from_numpy(x)), strict=True):
            np.testing.assert_array_equal(answers[name], y.numpy(), err_msg=name)


# ---- Keras's files beyond their types, TensorFlow's and ONNX's divisions --------------------------------------------------


@pytest.mark.parametrize("dtype,divisor", [("uint8", 256), ("int8", 300), ("int16", 70000)])
def test_a_whole_input_is_divided_by_what_its_type_does_not_hold(dtype, divisor, tmp_path):
    run_of_keras({"quotient": lambda x: x / divisor}, (dtype,), tmp_path)


def test_a_running_sum_is_of_the_type_that_is_asked(tmp_path):
    from keras import ops

    run_of_keras({"sum": lambda x: ops.cumsum(x * 300000000, 0, dtype="int64")}, ("int32",), tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_tensorflow_divides_and_rounds_down(dtype, tmp_path):
    import tensorflow as tf

    x = np.array([3.5, -8184.26, 1, 0.3, 7.7, 123.4, -0.0]).astype(dtype)
    divisor = 3 if dtype == "int32" else 0.1
    module = tf.Module()
    module.f = tf.function(lambda x: {"y": x // divisor}, input_signature=[tf.TensorSpec([None], dtype, name="x")])
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.f)
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "m", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), module.f(tf.constant(x))["y"].numpy())
    convoy("port", tmp_path / "m", "-o", tmp_path / "p.py")
    got = import_file(tmp_path / "p.py").load()(torch.from_numpy(x))
    np.testing.assert_array_equal((got["y"] if isinstance(got, dict) else got).numpy(), module.f(tf.constant(x))["y"].numpy())


def onnx_file(path, nodes, inputs, outputs, constants=(), opset=18):
    import onnx
    from onnx import helper as make

    infos = lambda rows: [make.make_tensor_value_info(n, make.np_dtype_to_tensor_dtype(np.dtype(d)), s) for n, d, s in rows]
    held = [onnx.numpy_helper.from_array(value, name) for name, value in constants]
    graph = make.make_graph([make.make_node(*node[:3], **node[3]) for node in nodes], "g", infos(inputs), infos(outputs), held)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", opset)], ir_version=9), path)
    return path


UNSIGNED = {
    "sum": [("Add", ["a", "b"], ["y"], {})],
    "difference": [("Sub", ["a", "b"], ["y"], {})],
    "remainder": [("Mod", ["a", "b"], ["y"], {})],
    "smaller": [("Min", ["a", "b"], ["y"], {})],
    "quotient": [("Div", ["a", "b"], ["y"], {})],
    "triangle": [("Trilu", ["a"], ["y"], {"upper": 0})],
    "turned": [("Slice", ["a", "begin", "end", "axis", "step"], ["y"], {})],
}


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int32", "int64"])
@pytest.mark.parametrize("name", UNSIGNED)
def test_numbers_without_a_sign_run_in_pytorch(name, dtype, tmp_path):
    from carrying import plain_session

    constants = [(word, np.array([value], "int64")) for word, value in (("begin", 3), ("end", -100), ("axis", 1), ("step", -1))]
    inputs = [("a", dtype, [3, 4]), ("b", dtype, [3, 4])]
    wants_b = name not in ("triangle", "turned")
    path = onnx_file(tmp_path / "m.onnx", UNSIGNED[name], inputs if wants_b else inputs[:1], [("y", dtype, [3, 4])],
                     constants if name == "turned" else ())  # fmt: skip
    draw = np.random.default_rng(4)
    given = [draw.integers(1, 200, (3, 4)).astype(dtype) for _ in range(2 if wants_b else 1)]
    refused = dtype == "uint64" and name not in ("triangle", "turned")
    done = convoy("port", path, "-o", tmp_path / "p.py", "--interface", "source", code=6 if refused else 0)
    if refused:
        assert "uint64" in done.stderr
        return
    got = import_file(tmp_path / "p.py").load()(*map(torch.from_numpy, given)).numpy()
    assert got.dtype == dtype
    try:
        want = plain_session(path).run(None, dict(zip("ab", given)))[0]
    except Exception:  # ONNX Runtime has no kernel for it
        a, b = given[0].astype(object), given[-1].astype(object)
        modulus = 2 ** np.iinfo(dtype).bits
        want = {"sum": lambda: (a + b) % modulus, "difference": lambda: (a - b) % modulus, "remainder": lambda: a % b,
                "smaller": lambda: np.minimum(a, b), "quotient": lambda: a // b, "triangle": lambda: np.tril(given[0]),
                "turned": lambda: a[:, ::-1]}[name]().astype(dtype)  # fmt: skip
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize("suffix", ["py", "keras", "onnx"])
def test_a_pool_of_whole_numbers_is_padded_with_the_least(dtype, suffix, tmp_path):
    from carrying import run_natively

    node = ("MaxPool", ["a"], ["y"], {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1], "strides": [2, 1]})
    path = onnx_file(tmp_path / "m.onnx", [node], [("a", dtype, [2, 3, 6, 5])], [("y", dtype, None)], opset=12)
    x = np.random.default_rng(5).integers(np.iinfo(dtype).min // 2, -1 if dtype != "uint8" else 99, (2, 3, 6, 5)).astype(dtype)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 2), (0, 1)], constant_values=np.iinfo(dtype).min)
    want = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))[:, :, ::2].max((-2, -1))
    got = run_natively([path], {"a": x}, tmp_path)[0]
    assert got.dtype == dtype and (dtype == "uint8" or (want < 0).all())
    np.testing.assert_array_equal(got, want)
    convoy("port", path, "-o", tmp_path / f"p.{suffix}", "--interface", "source")
    if suffix == "py":
        np.testing.assert_array_equal(import_file(tmp_path / "p.py").load()(torch.from_numpy(x)).numpy(), want)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_whole_numbers_are_resized_to_whole_numbers(dtype, mode, tmp_path):
    from carrying import plain_session, run_natively

    options = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    path = onnx_file(tmp_path / "m.onnx", [("Resize", ["a", "", "by"], ["y"], options)], [("a", dtype, [2, 3, 5, 6])], [("y", dtype, None)],
                     [("by", np.array([1, 1, 2, 4], "f4"))])  # fmt: skip
    least = 0 if dtype == "uint8" else -100
    x = np.random.default_rng(6).integers(least, 120, (2, 3, 5, 6)).astype(dtype)
    want = plain_session(path).run(None, {"a": x})[0]
    np.testing.assert_array_equal(run_natively([path], {"a": x}, tmp_path)[0], want)
    convoy("port", path, "-o", tmp_path / "p.py", "--interface", "source")
    np.testing.assert_array_equal(import_file(tmp_path / "p.py").load()(torch.from_numpy(x)).numpy(), want)


def test_a_weight_at_half_a_step_goes_to_the_even_code(tmp_path):
    """In float32, in which the runtime divides; in float64 it lies below the half."""
    from carrying import plain_session, run_natively

    scale = np.float32(0.01)
    weight = (np.arange(-40, 40, dtype="f4").reshape(8, 10) + np.float32(0.5)) * scale
    constants = [("w", weight), ("s", scale), ("z", np.int8(0))]
    nodes = [("QuantizeLinear", ["w", "s", "z"], ["q"], {}), ("DequantizeLinear", ["q", "s", "z"], ["d"], {}), ("MatMul", ["a", "d"], ["y"], {})]
    path = onnx_file(tmp_path / "m.onnx", nodes, [("a", "float32", [8, 8])], [("y", "float32", [8, 10])], constants)
    x = np.eye(8, dtype="f4")
    np.testing.assert_array_equal(run_natively([path], {"a": x}, tmp_path)[0], plain_session(path).run(None, {"a": x})[0])


QUOTIENTS = ["x / 256", "x / 300", "x / -3", "x / 255", "torch.true_divide(x, 1000)", "x.div(70000)", "1000 / x", "x / 2.5", "(x - 128) / 128",
             "x < 300", "x > -1"]  # fmt: skip


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
def test_a_whole_tensor_of_pytorch_is_divided_by_any_number(dtype, tmp_path):
    """The number was put into the tensor's type in front: 256 is 0 in uint8."""
    (tmp_path / "net.py").write_text(
        f"import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return {', '.join(QUOTIENTS)}\n"
    )
    x = np.array([1, 2, 44, 100, 127], dtype)
    np.save(tmp_path / "x.npy", x)
    model = import_file(tmp_path / "net.py").Net()
    want = [y.numpy() for y in model(torch.from_numpy(x))]
    torch.export.save(torch.export.export(model, (torch.from_numpy(x),)), tmp_path / "m.pt2")
    for source in (f"{tmp_path / 'net.py'}:Net", tmp_path / "m.pt2"):
        convoy("run", source, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npz", "-f")
        with np.load(tmp_path / "y.npz") as answers:
            for words, file, y in zip(QUOTIENTS, answers.files, want, strict=True):
                agree(words, answers[file], y, "")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "p.py")
    for words, got, y in zip(QUOTIENTS, import_file(tmp_path / "p.py").load()(torch.from_numpy(x)), want, strict=True):
        agree(words, got.numpy(), y, "")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
def test_a_whole_tensor_of_keras_is_compared_with_any_number(dtype, tmp_path):
    from keras import ops

    run_of_keras({"below": lambda x: x < 300, "above": lambda x: x > -1, "other": lambda x: ops.not_equal(x, 256),
                  "scaled": lambda x: (x - 128) / 128}, (dtype,), tmp_path)  # fmt: skip
