"""Models of operator sets 1 to 6, whose operators said things otherwise, against numpy's arithmetic."""
import numpy as np
import onnx
import pytest
from carrying import convoy, run_natively
from onnx import TensorProto
from onnx import helper as make
from onnx import numpy_helper

X = (np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5) % 13 - 6) / 4


def model(path, opset, op, inputs=("x",), shape=X.shape, outputs=1, dtype=TensorProto.FLOAT, attributes=None, **constants):
    names = [f"y{i}" for i in range(outputs)]
    graph = make.make_graph(
        [make.make_node(op, list(inputs), names, name="it", **(attributes or {}))],
        "g",
        [make.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        + [make.make_tensor_value_info(n, make.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in constants.items()],
        [make.make_tensor_value_info(name, dtype, None) for name in names],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", opset)], ir_version=3), path)
    return path


def answers(tmp_path, *of, x=X, **more):
    return run_natively([model(tmp_path / "m.onnx", *of, shape=x.shape, **more)], {"x": x}, tmp_path)


PAIRS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
    "Less": np.less, "Greater": np.greater,
}  # fmt: skip


@pytest.mark.parametrize("axis, shape", [(0, [2]), (1, [3, 4]), (2, [4]), (-2, [4]), (None, [4, 5]), (0, [2, 3, 4, 5])])
@pytest.mark.parametrize("op", PAIRS)
def test_the_second_operand_lies_along_the_named_axis(op, axis, shape, tmp_path):
    b = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape) / 8
    attributes = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
    dtype = TensorProto.BOOL if op in ("Less", "Greater") else TensorProto.FLOAT
    (y,) = answers(tmp_path, 6, op, ("x", "b"), dtype=dtype, attributes=attributes, b=b)
    first = 4 - len(shape) if axis is None else axis % 4
    np.testing.assert_allclose(y, PAIRS[op](X, b.reshape(shape + [1] * (4 - first - len(shape)))), rtol=1e-6)


def test_what_is_given_along_an_axis_is_a_weight_of_the_port(tmp_path):
    b = np.float32([1, 2, 4])
    path = model(tmp_path / "m.onnx", 6, "Add", ("x", "b"), attributes={"broadcast": 1, "axis": 1}, b=b)
    convoy("port", path, "--to", "torch", "-o", tmp_path / "m.py")
    convoy("port", path, "--to", "onnx", "-o", tmp_path / "new.onnx")
    (y,) = run_natively([tmp_path / "new.onnx"], {"x": X}, tmp_path)
    assert np.array_equal(y, X + b[:, None, None])


def test_operands_that_do_not_stretch_are_alike(tmp_path):
    b = np.ones((4, 5), np.float32)
    path = model(tmp_path / "m.onnx", 6, "Add", ("x", "b"), b=b)
    np.save(tmp_path / "x.npy", X)
    done = convoy("run", path, "--input", tmp_path / "x.npy", code=5)
    assert "has operands of [2, 3, 4, 5] and [4, 5], and attribute 'broadcast' is 0" in done.stderr


def test_types_are_words(tmp_path):
    (y,) = answers(tmp_path, 5, "Cast", dtype=TensorProto.INT32, attributes={"to": "INT32"})
    assert y.dtype == np.int32 and np.array_equal(y, X.astype(np.int32))


def test_attributes_that_became_inputs_or_changed_their_names(tmp_path):
    (y,) = answers(tmp_path, 4, "Reshape", attributes={"shape": [0, -1, 10], "consumed_inputs": [0]})
    assert np.array_equal(y, X.reshape(2, 6, 10))
    (y,) = answers(tmp_path, 1, "Pad", attributes={"paddings": [0, 0, 1, 0, 0, 0, 2, 3], "value": 2.0})
    assert np.array_equal(y, np.pad(X, [(0, 0), (0, 0), (1, 2), (0, 3)], constant_values=2))
    (y,) = answers(tmp_path, 6, "Upsample", attributes={"height_scale": 2.0, "width_scale": 3.0})
    assert np.array_equal(y, X.repeat(2, 2).repeat(3, 3))
    (y,) = answers(tmp_path, 3, "Concat", ("x", "b"), b=X[:, :1])
    assert np.array_equal(y, np.concatenate([X, X[:, :1]], 1))
    (y,) = answers(tmp_path, 5, "Tile", ("x", "tiles", "axis"), tiles=np.float32([3]), axis=np.float32([2]))
    assert np.array_equal(y, np.tile(X, (1, 1, 3, 1)))
    parts = answers(tmp_path, 1, "Split", ("x", "lengths"), outputs=2, attributes={"axis": 1}, lengths=np.float32([1, 2]))
    assert [p.shape[1] for p in parts] == [1, 2] and np.array_equal(np.concatenate(parts, 1), X)


def test_older_defaults_and_numbers(tmp_path):
    (y,) = answers(tmp_path, 1, "Selu")
    np.testing.assert_allclose(y, np.where(X > 0, 1.0507 * X, 1.0507 * 1.6732 * np.expm1(X)), rtol=2e-6, atol=1e-6)
    (y,) = answers(tmp_path, 1, "GlobalLpPool", attributes={"p": 3.0})
    np.testing.assert_allclose(y[..., 0, 0], (np.abs(X) ** 3).sum((2, 3)) ** (1 / 3), rtol=1e-6)
    slope = np.float32([0.5, 0.25, 2])
    (y,) = answers(tmp_path, 6, "PRelu", ("x", "slope"), slope=slope)
    assert np.array_equal(y, np.where(X < 0, X * slope[:, None, None], X))


@pytest.mark.parametrize("op, more", [("Dropout", 0), ("BatchNormalization", 4)])
def test_layers_that_train_are_refused(op, more, tmp_path):
    constants = {name: np.float32([1, 2, 4]) for name in "abcd"[:more]}
    inputs = ("x", *constants)
    old = {"consumed_inputs": [0] * 5} if more else {}
    (y,) = answers(tmp_path, 1, op, inputs, attributes={"is_test": 1, **old}, **constants)
    w = np.float32([1, 2, 4])[:, None, None]
    np.testing.assert_allclose(y, (X - w) / np.sqrt(w + 1e-5) * w + w if more else X, rtol=1e-5, atol=1e-6)
    np.save(tmp_path / "x.npy", X)
    path = model(tmp_path / "trains.onnx", 1, op, inputs, attributes=old, **constants)
    done = convoy("run", path, "--input", tmp_path / "x.npy", code=6)
    assert "as in training: attribute 'is_test' is 0" in done.stderr
