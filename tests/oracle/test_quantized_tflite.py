"""Ports to TFLite that compute in whole numbers (`--quantized keep`): QDQ models of ONNX Runtime's quantisers and quantised TFLite
files, judged by TFLite's interpreter with its reference kernels and with XNNPACK, against ONNX Runtime without optimisations."""
import numpy as np
import pytest
from carrying import cases_in, convoy, run_natively
from quantised_models import CARRIED, SHAPE, quantised, quantised_model
from test_quantized_ports import answer


def interpreter(path, reference):
    import tensorflow as tf

    kinds = tf.lite.experimental.OpResolverType
    kind = {"experimental_op_resolver_type": kinds.BUILTIN_REF} if reference else {}
    made = tf.lite.Interpreter(model_path=str(path), **kind)
    made.allocate_tensors()
    return made


def interpreted(path, x, reference):
    made = interpreter(path, reference)
    made.set_tensor(made.get_input_details()[0]["index"], x)
    made.invoke()
    return made.get_tensor(made.get_output_details()[0]["index"])


def words_of(path):
    import tensorflow as tf

    kind = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    made = tf.lite.Interpreter(model_path=str(path), experimental_op_resolver_type=kind)
    made.allocate_tensors()
    types = {one["index"]: np.dtype(one["dtype"]) for one in made.get_tensor_details()}
    operators = [(one["op_name"], {types[t].name for t in one["outputs"]}) for one in made._get_ops_details()]
    return [name for name, _ in operators], [name for name, made_of in operators if "float32" in made_of]


CASES = [(net, kind, per_channel) for net in CARRIED for kind in ("qdq_u8", "qdq_s8", "qdq_u8u8") for per_channel in (False, True)]
# What stays float32 between the first QUANTIZE and the last DEQUANTIZE: ONNX Runtime's quantiser gives the sigmoid steps of its own.
REAL = {"plain": ["DEQUANTIZE"], "residual": ["DEQUANTIZE"], "joined": ["DEQUANTIZE", "DEQUANTIZE", "LOGISTIC", "DEQUANTIZE"]}


@pytest.mark.parametrize("net,kind,per_channel", CASES)
def test_a_qdq_model_computes_in_whole_numbers(net, kind, per_channel, tmp_path):
    source, x = quantised(net, tmp_path, kind, per_channel)
    port = tmp_path / "port.tflite"
    said = convoy("port", source, "-o", port, "--quantized", "keep", "--interface", "source").stdout
    assert "operators compute in whole numbers" in said and "against the kernels of whole numbers" in said
    assert words_of(port)[1] == REAL[net]
    wanted = answer(source, x)
    steps = np.diff(np.unique(wanted))
    step = steps[steps > 1e-6].min()
    for reference, share in ((True, 0.02), (False, 0.002)):
        off = np.abs(interpreted(port, x, reference) - wanted) / step
        assert off.max() < 1.01  # one step, where fixed point rounds to the other side
        assert np.mean(off > 0.01) <= (share if off.size > 100 else 0.5)  # the last layer sees the steps of all before it
    got = run_natively([port], {"x": x}, tmp_path)[0]
    np.testing.assert_array_equal(got, interpreted(port, x, True))


@pytest.mark.parametrize("name", ["chain", "pooled", "upward"])
def test_no_kernel_is_further_off_than_two_steps(name, tmp_path):
    source, port = quantised_model(name, "u8", True, tmp_path), tmp_path / "port.tflite"
    convoy("port", source, "-o", port, "--quantized", "keep", "--interface", "source")
    x = np.random.default_rng(3).standard_normal(SHAPE).astype("f4")
    wanted = answer(source, x)
    steps = np.diff(np.unique(wanted))
    for reference in (True, False):  # minus infinity in front of a pool is no step, which the reference kernel takes for the largest
        off = np.abs(interpreted(port, x, reference) - wanted) / steps[steps > 1e-6].min()
        assert off.max() < 2.01 and np.mean(off > 0.01) <= 0.4


TFLITE = cases_in("corpus/tflite")


@pytest.mark.skipif(TFLITE is None, reason="no corpus")
@pytest.mark.parametrize("name", ["mobile_int8", "hard_swish_int8", "pools_int8", "unet_int8"])
def test_a_quantised_tflite_file_is_written_as_it_was(name, tmp_path):
    source, port = next((TFLITE / name).glob("*.tflite")), tmp_path / "port.tflite"
    convoy("port", source, "-o", port, "--quantized", "keep")
    assert sorted(words_of(port)[0]) == sorted(words_of(source)[0])
    details = interpreter(source, True).get_input_details()[0]
    random = np.random.default_rng(4)
    for _ in range(3):
        x = random.standard_normal(details["shape"]).astype("f4")
        if details["dtype"] != np.float32:
            x = random.integers(-128, 128, details["shape"]).astype(details["dtype"])
        for reference in (True, False):
            np.testing.assert_array_equal(interpreted(port, x, reference), interpreted(source, x, reference))


def small_nets():
    """Nets in which one thing alone stands between the input and what is rounded, or two layers go by one name."""
    import tensorflow as tf

    draw = np.random.default_rng(5)
    w = lambda *shape: tf.constant(draw.standard_normal(shape).astype("float32") * 0.4)
    depthwise, thin, up, wide = w(3, 2, 3, 1), w(1, 1, 3, 3), w(2, 2, 4, 3), w(5)
    return {
        "pad": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 1]]),
        "parted": lambda x: tf.space_to_batch(x, [2, 3], [[0, 1], [1, 2]]),
        "gather": lambda x: tf.gather(x, [2, 0, 0, 1], axis=3),
        "silu": lambda x: x * tf.sigmoid(x),
        "upward": lambda x: tf.nn.relu(tf.nn.conv2d_transpose(x, up, [1, 14, 18, 4], 2, "SAME")),
        "squared": lambda x: tf.square(tf.nn.relu(tf.nn.depthwise_conv2d(x, depthwise, [1, 1, 1, 1], "SAME") + wide[:3])),
        "norm": lambda x: (x - tf.reduce_mean(x, -1, keepdims=True)) * tf.math.rsqrt(tf.math.reduce_variance(x, -1, keepdims=True) + 0.1),
        "attention": lambda x: tf.matmul(tf.nn.softmax(tf.matmul(x, tf.transpose(x, [0, 1, 3, 2]))), x),
        "gelu": lambda x: tf.nn.gelu(tf.nn.conv2d(x, thin, 1, "SAME")),
        "selu": tf.nn.selu,
        "mish": lambda x: x * tf.tanh(tf.nn.softplus(x)),
        "length": lambda x: tf.math.l2_normalize(tf.abs(x), -1),
        "padded": lambda x: tf.pad(tf.nn.relu(tf.nn.conv2d(x, thin, 1, "SAME") + wide[1:4]), [[0, 0], [1, 0], [0, 1], [0, 0]], constant_values=0.4),
    }  # fmt: skip


def small_model(name, kind, draw, middle=0):
    import tensorflow as tf

    traced = tf.function(small_nets()[name], input_signature=[tf.TensorSpec((1, 7, 9, 3), tf.float32, name="x")])
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([draw.standard_normal((1, 7, 9, 3)).astype("f4") + middle] for _ in range(8))
    if kind:
        converter.inference_input_type = converter.inference_output_type = getattr(tf, kind)
    return converter.convert()


@pytest.mark.parametrize("kind", ["int8", "uint8", None])
@pytest.mark.parametrize("name", ["pad", "parted", "gather", "silu", "upward", "squared", "padded", "norm", "gelu", "selu", "mish", "length"])
def test_a_small_quantised_file_is_written_as_it_was(name, kind, tmp_path):
    draw = np.random.default_rng(6)
    source, port = tmp_path / "source.tflite", tmp_path / "port.tflite"
    source.write_bytes(small_model(name, kind, draw))
    convoy("port", source, "-o", port, "--quantized", "keep")
    x = draw.standard_normal((1, 7, 9, 3)).astype("f4")
    if kind:
        x = draw.integers(np.iinfo(kind).min, np.iinfo(kind).max, x.shape, kind, endpoint=True)
    np.testing.assert_array_equal(interpreted(port, x, True), interpreted(source, x, True))


def test_a_product_of_matrices_is_not_given_to_a_kernel_that_forgets_a_zero_point(tmp_path):
    """XNNPACK takes the second factor's for 0: the source itself is far off there."""
    draw = np.random.default_rng(6)
    source, port = tmp_path / "source.tflite", tmp_path / "port.tflite"
    source.write_bytes(small_model("attention", "int8", draw, 1))
    said = convoy("port", source, "-o", port, "--quantized", "keep").stdout
    assert "BATCH_MATMUL: its second factor has a zero point, which XNNPACK's kernel leaves out" in said
    x = draw.integers(-128, 127, (1, 7, 9, 3), "int8", endpoint=True)
    wanted = interpreted(source, x, True).astype(int)
    assert np.abs(interpreted(source, x, False) - wanted).max() > 10
    for reference in (True, False):
        assert np.abs(interpreted(port, x, reference) - wanted).max() <= 2


def test_weights_that_the_file_does_not_hold_as_integers_are_said(tmp_path):
    source, x = quantised("plain", tmp_path, "qoperator")
    said = convoy("port", source, "-o", tmp_path / "port.tflite", "--quantized", "keep", "--interface", "source").stdout
    assert "0 operators compute in whole numbers" in said
    off = interpreted(tmp_path / "port.tflite", x, False) != answer(source, x)
    assert np.mean(off) < 0.01


@pytest.mark.parametrize("pads", [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1], [1, 0, 2, 0]])
def test_crops_of_unlike_sides_are_cut_off_whole_numbers(pads, tmp_path):
    """A cut along two axes is read as two steps, the first of which bears a name that the model has for something else."""
    import onnx
    from onnx import helper

    draw = np.random.default_rng(0)
    held = {"s1": np.float32(0.04), "z1": np.int8(-3), "s2": np.float32(0.3), "z2": np.int8(-9),
            "w": draw.integers(-128, 128, (4, 8, 3, 3)).astype("int8"), "ws": np.float32(0.01), "wz": np.int8(0),
            "b": draw.integers(-3000, 3000, 8).astype("int32"), "bs": np.float32(0.04) * np.float32(0.01), "bz": np.int32(0)}
    rows = [("QuantizeLinear", "x s1 z1", "q"), ("DequantizeLinear", "q s1 z1", "d"), ("DequantizeLinear", "w ws wz", "wf"),
            ("DequantizeLinear", "b bs bz", "bf"), ("ConvTranspose", "d wf bf", "m"), ("QuantizeLinear", "m s2 z2", "mq"),
            ("DequantizeLinear", "mq s2 z2", "y")]
    nodes = [helper.make_node(op, given.split(), [made], **({"strides": [2, 2], "pads": pads} if op == "ConvTranspose" else {}))
             for op, given, made in rows]
    x, y = (helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [1, 4, 6, 6]), ("y", None)))
    graph = helper.make_graph(nodes, "g", [x], [y], [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in held.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "net.onnx")
    convoy("port", tmp_path / "net.onnx", "-o", tmp_path / "port.tflite", "--quantized", "keep", "--interface", "source")
    image = draw.standard_normal((1, 4, 6, 6)).astype("float32")
    wanted = answer(tmp_path / "net.onnx", image)
    for reference in (True, False):
        got = interpreted(tmp_path / "port.tflite", image, reference)
        assert got.shape == wanted.shape
        assert np.abs(got - wanted).max() <= 0.3001 and (np.abs(got - wanted) > 0.1).mean() < 0.02
