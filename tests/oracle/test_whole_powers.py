"""Powers and means of whole numbers, which TensorFlow, TFLite and ONNX Runtime keep whole: beyond 2^24 float32 is another answer."""
import importlib.util

import numpy as np
import onnx
import pytest
import tensorflow as tf
import torch
from carrying import convoy, plain_session
from onnx import helper as make

X = np.array([[3, -7, 1001], [-1217, 46341, 65537]])
LARGE = np.array([[299999999, 300000001, 7, 16777217, 5], [-299999999, -4, -3, 16777219, 9]])


def answers(source, x, tmp_path):
    """What `run` and the ports answer."""
    np.save(tmp_path / "x.npy", x)
    convoy("run", source, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "-f")
    yield "run", np.load(tmp_path / "y.npy")
    convoy("port", source, "-o", tmp_path / "port.py", "-f", "--interface", "source")
    spec = importlib.util.spec_from_file_location("port", tmp_path / "port.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    answer = module.load()(torch.from_numpy(x))
    yield "torch", (answer if isinstance(answer, torch.Tensor) else next(iter(answer.values() if isinstance(answer, dict) else answer))).numpy()
    convoy("port", source, "-o", tmp_path / "port.onnx", "-f", "--interface", "source")
    session = plain_session(tmp_path / "port.onnx")
    yield "onnx", session.run(None, {session.get_inputs()[0].name: x})[0]


OPERATIONS = {
    "square": (lambda x: tf.pow(x, 2), X),
    "cube": (lambda x: tf.pow(x, 3), X),
    "fifth": (lambda x: tf.pow(x, 5), X),
    "mean of all": (lambda x: tf.reduce_mean(x), LARGE),
    "mean of rows": (lambda x: tf.reduce_mean(x, 1, keepdims=True), LARGE),
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_tensorflow(name, dtype, tmp_path):
    function, x = OPERATIONS[name]
    x = x.astype(dtype)
    module = tf.Module()
    module.f = tf.function(lambda x: {"y": function(x)}, input_signature=[tf.TensorSpec(x.shape, dtype, name="x")])
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.f)
    want = module.f(tf.constant(x))["y"].numpy()
    for who, got in answers(tmp_path / "model", x, tmp_path):
        assert got.dtype == want.dtype and np.array_equal(got, want), who


@pytest.mark.parametrize("name", ["cube", "mean of rows"])
def test_tflite(name, tmp_path):
    function, x = OPERATIONS[name]
    x = x.astype("int32")
    f = tf.function(lambda x: function(x), input_signature=[tf.TensorSpec(x.shape, "int32", name="x")])
    module = tf.Module()
    module.f = f
    converter = tf.lite.TFLiteConverter.from_concrete_functions([f.get_concrete_function()], module)
    (tmp_path / "m.tflite").write_bytes(converter.convert())
    runner = tf.lite.Interpreter(str(tmp_path / "m.tflite"))
    runner.allocate_tensors()
    runner.set_tensor(runner.get_input_details()[0]["index"], x)
    runner.invoke()
    want = runner.get_tensor(runner.get_output_details()[0]["index"])
    for who, got in answers(tmp_path / "m.tflite", x, tmp_path):
        assert got.dtype == want.dtype and np.array_equal(got, want), who


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("op", ["ReduceMean", "ReduceL2"])
def test_onnx(op, dtype, tmp_path):
    x = (LARGE if op == "ReduceMean" else X[:, :3] % 1009).astype(dtype)
    kind = make.np_dtype_to_tensor_dtype(x.dtype)
    infos = [make.make_tensor_value_info(n, kind, s) for n, s in (("x", x.shape), ("y", [1, 1]))]
    graph = make.make_graph([make.make_node(op, ["x"], ["y"])], "g", infos[:1], infos[1:])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=10), tmp_path / "m.onnx")
    try:
        want = plain_session(tmp_path / "m.onnx").run(None, {"x": x})[0]
    except Exception as refused:  # noqa: BLE001
        pytest.skip(f"ONNX Runtime has no such kernel: {refused}")
    for who, got in answers(tmp_path / "m.onnx", x, tmp_path):
        assert got.dtype == want.dtype and np.array_equal(got, want), who


@pytest.mark.parametrize("to", ["int32", "uint8", "bool"])
def test_tflite_casts_to_what_its_tensor_is(to, tmp_path):
    """Today's converter writes no options beside a cast."""
    x = np.array([[0.4, 2.6, 3.0, 7.9]], "float32")
    f = tf.function(lambda x: tf.cast(x, to), input_signature=[tf.TensorSpec(x.shape, "float32", name="x")])
    module = tf.Module()
    module.f = f
    converter = tf.lite.TFLiteConverter.from_concrete_functions([f.get_concrete_function()], module)
    (tmp_path / "m.tflite").write_bytes(converter.convert())
    for who, got in answers(tmp_path / "m.tflite", x, tmp_path):
        assert got.dtype == to and np.array_equal(got, x.astype(to)), who
