"""Quantised operators that ONNX Runtime has beside the standard's, in files that its static quantiser writes as operators: the
integers that it gives."""
import numpy as np
import onnx
import onnxruntime
import pytest
from carrying import convoy, plain_session, run_natively
from onnx import TensorProto, helper, numpy_helper

SHAPE = (2, 3, 6, 5)
TYPES = {"uint8": (np.uint8, TensorProto.UINT8, 7), "int8": (np.int8, TensorProto.INT8, -3)}


def file_of(type_name, op, tensors, attributes, folder, order="behind", plain=()):
    """A model of one operator over `tensors` whole numbers, scales of its own for each."""
    number, code, zero = TYPES[type_name]
    scales = [0.021, 0.034, 1 / 256 if op == "QLinearSoftmax" else 0.0173]  # which takes whole steps of 1
    constants, inputs, triples = [], [], []
    for i in range(tensors + 1):
        constants += [numpy_helper.from_array(np.float32(scales[i - 1]), f"s{i}"), numpy_helper.from_array(number(zero + i), f"z{i}")]
    result = ["s0", "z0"]
    for i in range(tensors):
        inputs.append(helper.make_tensor_value_info(f"x{i}", code, SHAPE))
        triples += [f"x{i}", f"s{i + 1}", f"z{i + 1}"]
    whole = list(plain) + (result + triples if order == "front" else triples + result)
    if plain:
        inputs.append(helper.make_tensor_value_info(plain[0], TensorProto.BOOL, SHAPE))
    node = helper.make_node(op, whole, ["y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", code, None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    onnx.save(model, folder / "m.onnx")


# operator -> (how many tensors, attributes, how many steps ONNX Runtime's own fixed point may be away, where the result's scale is)
OPERATORS = {
    "QLinearAdd": (2, {}, 1, "behind"),
    "QLinearMul": (2, {}, 1, "behind"),
    "QLinearSigmoid": (1, {}, 0, "behind"),
    "QLinearLeakyRelu": (1, {"alpha": 0.15}, 0, "behind"),
    "QLinearGlobalAveragePool": (1, {"channels_last": 0}, 0, "behind"),
    "QLinearAveragePool": (1, {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}, 0, "behind"),
    "QLinearConcat": (2, {"axis": 1}, 0, "front"),
    "QLinearSoftmax": (1, {"axis": 1, "opset": 13}, 1, "behind"),
}


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("op", OPERATORS)
def test_an_operator_gives_the_same_integers(op, type_name, tmp_path):
    tensors, attributes, steps, order = OPERATORS[op]
    file_of(type_name, op, tensors, attributes, tmp_path, order)
    random = np.random.default_rng(5)
    least = np.iinfo(TYPES[type_name][0]).min
    given = {f"x{i}": random.integers(least, least + 256, SHAPE).astype(TYPES[type_name][0]) for i in range(tensors)}
    want = plain_session(tmp_path / "m.onnx").run(None, given)[0]
    got = run_natively([tmp_path / "m.onnx"], given, tmp_path)[0]
    assert got.shape == want.shape
    apart = np.abs(got.astype(int) - want.astype(int))
    assert apart.max() <= steps, f"{apart.max()} steps in {np.mean(apart > 0):.2%} of the numbers"
    assert np.mean(apart > 0) < 0.01
    convoy("port", tmp_path / "m.onnx", "--to", "torch", "-o", tmp_path / "m.py")


def network():
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.d = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 1), nn.Linear(16, 5)

        def forward(self, x):
            import torch.nn.functional as F

            x = F.relu(self.a(x))
            y = F.leaky_relu(self.c(self.b(x) + x), 0.1)
            y = y * y.sigmoid()
            y = F.adaptive_avg_pool2d(__import__("torch").cat([F.avg_pool2d(y, 2), F.max_pool2d(y, 2)], 1), 1)
            return self.d(y.flatten(1))

    return Net().eval()


@pytest.mark.parametrize("activations, weights, per_channel", [("QUInt8", "QUInt8", False), ("QUInt8", "QInt8", True), ("QInt8", "QInt8", False)])
def test_a_network_of_the_static_quantiser(activations, weights, per_channel, tmp_path):
    import torch
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    torch.manual_seed(0)
    random = np.random.default_rng(0)
    torch.onnx.export(network(), torch.randn(1, 3, 12, 14), tmp_path / "f.onnx", opset_version=13, dynamo=False, input_names=["x"],
                      dynamic_axes={"x": {0: "n"}})

    class Reader(CalibrationDataReader):
        given = iter([{"x": random.normal(size=(1, 3, 12, 14)).astype("float32")} for _ in range(8)])

        def get_next(self):
            return next(self.given, None)

    quantize_static(tmp_path / "f.onnx", tmp_path / "m.onnx", Reader(), quant_format=QuantFormat.QOperator,
                    activation_type=QuantType[activations], weight_type=QuantType[weights], per_channel=per_channel,
                    reduce_range=activations == "QUInt8" and weights == "QInt8")  # AVX2 alone saturates sums of larger ones
    x = random.normal(size=(200, 3, 12, 14)).astype("float32")
    want = plain_session(tmp_path / "m.onnx").run(None, {"x": x})[0]
    got = run_natively([tmp_path / "m.onnx"], {"x": x}, tmp_path)[0]
    step = np.min(np.diff(np.unique(want)))
    assert np.abs(got - want).max() < 2.5 * step
    assert np.mean(got != want) < 0.05
    assert np.mean(got.argmax(1) == want.argmax(1)) > 0.98
    convoy("port", tmp_path / "m.onnx", "--to", "torch", "-o", tmp_path / "m.py")


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("op", ["DynamicQuantizeMatMul", "MatMulIntegerToFloat"])
def test_whole_sums_as_real_numbers(op, by_columns, bias, tmp_path):
    """As ONNX Runtime's optimiser writes what `quantize_dynamic` made."""
    rng, of = np.random.default_rng(4), numpy_helper.from_array
    scales, zeros = (5,) if by_columns else (), (5,) if by_columns else ()
    held = [of(rng.integers(-63, 64, (7, 5)).astype("int8"), "b"), of(np.float32(rng.uniform(0.01, 0.03, scales)), "b_scale"),
            of(rng.integers(-3, 4, zeros).astype("int8"), "b_zero"), of(rng.standard_normal(5).astype("float32"), "bias")]
    if op == "DynamicQuantizeMatMul":
        given, code = rng.standard_normal((2, 3, 7)).astype("float32"), TensorProto.FLOAT
        words = ["a", "b", "b_scale", "b_zero"]
    else:
        given, code = rng.integers(0, 256, (2, 3, 7)).astype("uint8"), TensorProto.UINT8
        held += [of(np.float32(0.021), "a_scale"), of(np.uint8(121), "a_zero")]
        words = ["a", "b", "a_scale", "b_scale", "a_zero", "b_zero"]
    node = helper.make_node(op, words + ["bias"] * bias, ["y"], domain="com.microsoft")
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("a", code, given.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 3, 5))], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)], ir_version=8),
              tmp_path / "m.onnx")
    want = plain_session(tmp_path / "m.onnx").run(None, {"a": given})[0]
    got = run_natively([tmp_path / "m.onnx"], {"a": given}, tmp_path)[0]
    np.testing.assert_allclose(got, want, rtol=2.0**-22, atol=2.0**-23 if bias else 0)  # whose sum may be one rounding
    for target in ("onnx", "tflite"):
        convoy("port", tmp_path / "m.onnx", "-o", tmp_path / f"port.{target}")
    again = plain_session(tmp_path / "port.onnx").run(None, {"a": given})[0]
    np.testing.assert_array_equal(again, got)


def test_what_is_not_read_is_said(tmp_path):
    file_of("uint8", "QLinearAveragePool", 1, {"kernel_shape": [2, 2], "channels_last": 1}, tmp_path)
    assert "channels_last" in convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "m.py", code=6).stderr
    file_of("uint8", "QEmbedLayerNormalization", 1, {}, tmp_path)
    assert "com.microsoft" in convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "m.py", code=6).stderr
