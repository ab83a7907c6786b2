"""Models that ONNX Runtime's quantisers made, carried with `port --quantized`: the same integers, judged by ONNX Runtime without
optimisations; other ports round to the same steps. Exported PyTorch programs of `quantized_decomposed`, judged by PyTorch."""

import numpy as np
import onnx
import pytest
import torch
from carrying import cases_in, convoy, import_file, plain_session, run_natively
from quantised_models import CARRIED, SHAPE, carried_float, quantised
from torch import nn


def answer(path, x):
    session = plain_session(path, threads=1)
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def held(path):
    """What the file rounds to and from: how often, the scales, and all whole numbers of weights."""
    model = onnx.load(path)
    numbers = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            numbers[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
    rounds, weights = [], []
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            rounds.append((numbers[node.input[1]].tobytes(), int(numbers[node.input[2]].reshape(-1)[0])))
        if node.op_type == "DequantizeLinear" and node.input[0] in numbers:
            whole = numbers[node.input[0]]
            weights.append((str(whole.dtype), whole.shape, whole.tobytes(), numbers[node.input[1]].tobytes()))
    return sorted(rounds), sorted(weights, key=str)


QDQ = [("plain", "qdq_u8", False), ("plain", "qdq_s8", True), ("plain", "qdq_u8u8", False), ("residual", "qdq_u8", True),
       ("residual", "qdq_s8", False), ("joined", "qdq_u8", False), ("joined", "qdq_s8", True)]


@pytest.mark.parametrize("net,kind,per_channel", QDQ)
def test_the_same_integers_stand_in_an_onnx_port(net, kind, per_channel, tmp_path):
    source, x = quantised(net, tmp_path, kind, per_channel)
    convoy("port", source, "-o", tmp_path / "port.onnx")
    assert held(tmp_path / "port.onnx") == held(source)
    np.testing.assert_array_equal(answer(tmp_path / "port.onnx", x), answer(source, x))


@pytest.mark.parametrize("net,kind", [("plain", "qdq_s16"), ("residual", "qdq_s16")])
def test_steps_of_16_bits_need_an_operator_set_that_has_them(net, kind, tmp_path):
    source, x = quantised(net, tmp_path, kind)
    model = onnx.load(source)
    for node in model.graph.node:
        if node.domain == "com.microsoft":
            node.domain = ""
    model.opset_import[0].version = 21
    onnx.save(model, source)
    wanted = answer(source, x)
    convoy("port", source, "-o", tmp_path / "port.onnx", "--opset", "21")
    assert held(tmp_path / "port.onnx") == held(source)
    np.testing.assert_array_equal(answer(tmp_path / "port.onnx", x), wanted)
    convoy("port", source, "-o", tmp_path / "old.onnx", "--opset", "17")
    assert all(node.op_type != "QuantizeLinear" for node in onnx.load(tmp_path / "old.onnx").graph.node)
    np.testing.assert_array_equal(answer(tmp_path / "old.onnx", x), wanted)


# What no reader or target has a word for yet, by network, form and extension ("": whatever the target).
MISSING = {("residual", "qoperator", ".tflite"): "MAX_POOL_2D"}
EVERYWHERE = [(net, kind, per_channel) for net in CARRIED for kind in ("qdq_u8", "qdq_s8", "qdq_u8u8", "qoperator", "dynamic")
              for per_channel in ((False, True) if kind.startswith("qdq") else (False,))]


def in_its_runtime(path, x):
    """What a port of any format answers where it is at home."""
    if path.suffix == ".onnx":
        return answer(path, x)
    if path.suffix == ".py":
        with torch.no_grad():
            return import_file(path).load()(torch.from_numpy(x)).numpy()
    if path.suffix == ".keras":
        import keras

        return np.asarray(keras.models.load_model(path).predict(x, verbose=0))
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(model_path=str(path))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("target", [".onnx", ".py", ".keras", ".tflite"])
@pytest.mark.parametrize("net,kind,per_channel", EVERYWHERE)
def test_every_target_answers_as_onnx_runtime_or_lacks_a_word(net, kind, per_channel, target, tmp_path):
    source, x = quantised(net, tmp_path, kind, per_channel)
    word = MISSING.get((net, kind, "")) or MISSING.get((net, kind, target))
    port = tmp_path / f"port{target}"
    result = convoy("port", source, "-o", port, "--interface", "source", code=6 if word else 0)
    if word:
        assert word in result.stderr
        return
    got, wanted = in_its_runtime(port, x), answer(source, x)
    if target == ".onnx" and (net, kind) != ("residual", "qoperator"):  # whose sums ONNX Runtime rounds in fixed point
        np.testing.assert_array_equal(got, wanted)
    elif kind == "dynamic":  # its answers are real numbers, summed in another order
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    else:  # a sum in another order may lie on the other side of a half
        assert np.mean(got != wanted) < 0.01


def sums_of_bytes(kind, terms, folder):
    """A product of bytes, as large as they get or small, counted from zeros, and what arithmetic makes of it."""
    rng = np.random.default_rng(3)
    least, most = (0, 40) if kind == "small" else (200, 256)
    x = rng.integers(least, most, (2, 5, terms)).astype("float32")
    if "conv" in kind:
        low, high = (200, 256) if kind == "large conv" else (0, 256)
        x = rng.integers(low, high, (2, terms // 9, 5, 6)).astype("float32")
        low, high = (100, 128) if kind == "large conv" else (-9, 10)
        w = rng.integers(low, high, (3, terms // 9, 3, 3)).astype("int8")
        zero = np.array(0, "int8")
    else:
        w = rng.integers(least // 4 - 8, most // 2, (terms, 3)).astype("int8")
        zero = np.array([-1, 2, 0], "int8")
    nodes = [onnx.helper.make_node("Cast", ["x"], ["a"], to=onnx.TensorProto.UINT8)]
    held = {"a_zero": np.array(3, "uint8"), "zero": zero}
    if kind == "both":  # neither side is known beforehand
        nodes += [onnx.helper.make_node("Slice", ["a", "from", "to", "axis"], ["rows"]),
                  onnx.helper.make_node("Transpose", ["rows"], ["w"], perm=[0, 2, 1])]
        held |= {"from": np.array([1]), "to": np.array([4]), "axis": np.array([1]), "zero": np.array(2, "uint8")}
        w = x[:, 1:4].swapaxes(1, 2)
    else:
        held["w"] = w
    word = "ConvInteger" if "conv" in kind else "MatMulInteger"
    nodes += [onnx.helper.make_node(word, ["a", "w", "a_zero", "zero"], ["y"])]
    graph = onnx.helper.make_graph(
        nodes, "sums", [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT32, None)],
        [onnx.numpy_helper.from_array(value, name) for name, value in held.items()])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "sums.onnx")
    left, right = torch.from_numpy(x.astype("float64") - 3), torch.from_numpy(w.astype("float64") - held["zero"])
    wanted = nn.functional.conv2d(left, right) if "conv" in kind else left @ right
    return folder / "sums.onnx", x, wanted.numpy()


# Sums that float32 holds by the weights, those that it would round (beyond 2^24), and of two sides that the model computes.
SUMS = [("small", 700), ("large", 1001), ("both", 300), ("conv", 45 * 9), ("large conv", 90 * 9)]


@pytest.mark.parametrize("target", [".keras", ".tflite"])
@pytest.mark.parametrize("kind,terms", SUMS)
def test_sums_of_bytes_are_exact_where_products_run_in_float32(kind, terms, target, tmp_path):
    source, x, wanted = sums_of_bytes(kind, terms, tmp_path)
    assert (np.abs(wanted).max() > 2**24) == ("large" in kind)
    port = tmp_path / f"port{target}"
    convoy("port", source, "-o", port, "--interface", "source")
    np.testing.assert_array_equal(in_its_runtime(port, x), wanted)
    np.testing.assert_array_equal(run_natively([source], {"x": x}, tmp_path)[0], wanted)


@pytest.mark.parametrize("net,kind,per_channel", QDQ)
def test_the_same_steps_can_be_spelt_out(net, kind, per_channel, tmp_path):
    source, x = quantised(net, tmp_path, kind, per_channel)
    wanted = answer(source, x)
    convoy("port", source, "-o", tmp_path / "fake.onnx", "--quantized", "fake")
    assert all(node.op_type != "QuantizeLinear" for node in onnx.load(tmp_path / "fake.onnx").graph.node)
    np.testing.assert_array_equal(answer(tmp_path / "fake.onnx", x), wanted)


@pytest.mark.parametrize("net", CARRIED)
def test_rounding_can_be_left_out(net, tmp_path):
    source, x = quantised(net, tmp_path, "qdq_u8")
    convoy("port", source, "-o", tmp_path / "carried.onnx", "--quantized", "float")
    kinds = {node.op_type for node in onnx.load(tmp_path / "carried.onnx").graph.node}
    assert not kinds & {"QuantizeLinear", "DequantizeLinear", "Round"}
    wanted = answer(tmp_path / "carried.onnx", x)
    exact = answer(carried_float(net), x)
    assert np.abs(wanted - exact).max() <= 0.1 * np.abs(exact).max()


def test_whole_numbers_have_no_place_in_other_targets(tmp_path):
    source, _ = quantised("plain", tmp_path, "qdq_u8")
    result = convoy("port", source, "-o", tmp_path / "port.py", "--quantized", "keep", code=6)
    assert "--quantized fake" in result.stderr


DECOMPOSED = torch.ops.quantized_decomposed


def stepped(x, scale, zero, least, most, dtype):
    arguments = (scale, zero, least, most, dtype)
    return DECOMPOSED.dequantize_per_tensor(DECOMPOSED.quantize_per_tensor(x, *arguments), *arguments)


class Decomposed(nn.Module):
    """As quantised programs are exported: activations in steps, weights as whole numbers, one rounding for each channel."""

    def __init__(self, kind):
        super().__init__()
        self.dtype, self.least, self.most = {
            "int8": (torch.int8, -128, 127), "uint8": (torch.uint8, 0, 255), "narrow": (torch.int8, -127, 127),
            "int16": (torch.int16, -32768, 32767),
        }[kind]
        self.first = nn.Conv2d(3, 6, 3, padding=1)
        whole = torch.randint(-127, 128, (4, 6, 3, 2), dtype=torch.int8)
        self.register_buffer("whole", whole)
        self.register_buffer("scales", torch.rand(4) * 0.01 + 0.001)
        self.register_buffer("zeros", torch.tensor([0, 1, -2, 3]))
        self.register_buffer("channels", torch.tensor([0.011, 0.02, 0.013, 0.017]))
        self.register_buffer("channel_zeros", torch.tensor([3, 0, 7, 1]))

    def forward(self, x):
        middle = (self.least + self.most + 1) // 2
        x = stepped(x, 0.03, middle + 5, self.least, self.most, self.dtype)
        x = stepped(torch.relu(self.first(x)), 0.0173, middle - 3, self.least, self.most, self.dtype)
        weight = DECOMPOSED.dequantize_per_channel(self.whole, self.scales, self.zeros, 0, -127, 127, torch.int8)
        x = torch.conv2d(x, weight, stride=2)
        arguments = (self.channels, self.channel_zeros, 1, self.least, self.most, self.dtype)
        return DECOMPOSED.dequantize_per_channel(DECOMPOSED.quantize_per_channel(x, *arguments), *arguments)


def decomposed(kind, folder):
    import torch.ao.quantization.fx._decomposed  # noqa: F401 (registers the operators)

    torch.manual_seed(2)
    net, x = Decomposed(kind).eval(), torch.randn(*SHAPE)
    torch.export.save(torch.export.export(net, (x,)), folder / "net.pt2")
    with torch.no_grad():
        return x.numpy(), net(x).numpy()


@pytest.mark.parametrize("kind", ["int8", "uint8", "narrow", "int16"])
def test_a_quantised_program_is_run_and_carried(kind, tmp_path):
    x, wanted = decomposed(kind, tmp_path)
    got = run_natively([tmp_path / "net.pt2"], {"x": x}, tmp_path)[0]
    assert np.mean(got != wanted) < 0.01 and np.abs(got - wanted).max() <= 0.0201
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.onnx")
    ported = answer(tmp_path / "port.onnx", x)
    assert np.mean(ported != wanted) < 0.01 and np.abs(ported - wanted).max() <= 0.0201
    for target in ("port.py", "port.keras", "port.tflite"):
        convoy("port", tmp_path / "net.pt2", "-o", tmp_path / target)


@pytest.mark.parametrize("kind,words", [("int8", 3), ("uint8", 3), ("narrow", 0)])
def test_a_quantised_program_divides_by_its_scales_when_asked(kind, words, tmp_path):
    x, wanted = decomposed(kind, tmp_path)
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "exact.onnx")
    assert all(node.op_type != "QuantizeLinear" for node in onnx.load(tmp_path / "exact.onnx").graph.node)
    said = convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.onnx", "--quantized", "keep").stdout
    assert "3 roundings divide by their scale" in said
    kinds = [node.op_type for node in onnx.load(tmp_path / "port.onnx").graph.node]
    assert kinds.count("QuantizeLinear") == words
    got = answer(tmp_path / "port.onnx", x)
    assert np.mean(got != wanted) < 0.01 and np.abs(got - wanted).max() <= 0.0201


class ByRows(nn.Module):
    """Steps of each row along the last axis, which the program chooses."""

    def __init__(self, is_symmetric, half):
        super().__init__()
        self.choose = DECOMPOSED.choose_qparams_per_token if is_symmetric else DECOMPOSED.choose_qparams_per_token_asymmetric
        self.half = half

    def forward(self, x):
        if self.half:
            x = x.to(self.half)
        steps = (*self.choose(x, torch.int8), -128, 127, torch.int8)
        return DECOMPOSED.dequantize_per_token(DECOMPOSED.quantize_per_token(x, *steps), *steps, torch.float32)


class ByGroups(nn.Module):
    """Rows of 12 numbers, some neighbours of which share a scale; zeros of int8 wrap around."""

    def __init__(self, size, zeros, given, scales=torch.float32):
        super().__init__()
        groups = 12 // min(size, 12)
        self.size, self.given = size, given
        self.register_buffer("scales", (torch.rand(5, groups) * 0.1 + 0.01).to(scales))
        self.register_buffer("zeros", torch.randint(-90, 90, (5, groups)).to(zeros))

    def forward(self, x):
        steps = (self.scales, self.zeros, -128, 127, torch.int8, self.size)
        return DECOMPOSED.dequantize_per_channel_group(DECOMPOSED.quantize_per_channel_group(x, *steps), *steps, self.given).float()


class ToHalves(nn.Module):
    """Widened to 16 bits by a scale that these do not hold, a number or a tensor of one."""

    def __init__(self, given, is_tensor):
        super().__init__()
        self.given, self.is_tensor = given, is_tensor
        self.register_buffer("scale", torch.tensor([0.0213]))
        self.register_buffer("zero", torch.tensor([-7]))

    def forward(self, x):
        limits = (-32768, 32767, torch.int16)
        whole = DECOMPOSED.quantize_per_tensor(x, 0.0213, -7, *limits)
        if self.is_tensor:
            return DECOMPOSED.dequantize_per_tensor.tensor(whole, self.scale, self.zero, *limits, out_dtype=self.given).float()
        return DECOMPOSED.dequantize_per_tensor(whole, 0.0213, -7, *limits, out_dtype=self.given).float()


FINER = {
    "rows": (lambda: ByRows(False, None), (2, 3, 7)),
    "rows of bfloat16": (lambda: ByRows(False, torch.bfloat16), (2, 3, 7)),
    "rows of float16": (lambda: ByRows(False, torch.float16), (2, 3, 7)),
    "symmetric rows": (lambda: ByRows(True, None), (2, 3, 7)),
    "symmetric rows of bfloat16": (lambda: ByRows(True, torch.bfloat16), (2, 3, 7)),
    "symmetric rows of float16": (lambda: ByRows(True, torch.float16), (2, 3, 7)),
    "groups": (lambda: ByGroups(4, torch.int32, torch.float32), (5, 12)),
    "groups of int8 zeros": (lambda: ByGroups(3, torch.int8, torch.bfloat16), (5, 12)),
    "groups of real zeros": (lambda: ByGroups(6, torch.float32, torch.float16), (5, 12)),
    "one group of bfloat16 scales": (lambda: ByGroups(32, torch.int64, torch.float32, torch.bfloat16), (5, 12)),
    "groups of float16 scales": (lambda: ByGroups(2, torch.int16, torch.float32, torch.float16), (5, 12)),
    "bfloat16": (lambda: ToHalves(torch.bfloat16, False), (2, 3, 7)),
    "float16": (lambda: ToHalves(torch.float16, False), (2, 3, 7)),
    "bfloat16 by a tensor": (lambda: ToHalves(torch.bfloat16, True), (2, 3, 7)),
    "float16 by a tensor": (lambda: ToHalves(torch.float16, True), (2, 3, 7)),
}


@pytest.mark.parametrize("name", FINER)
def test_steps_of_rows_and_groups_and_halves_are_those_of_pytorch(name, tmp_path):
    import torch.ao.quantization.fx._decomposed  # noqa: F401 (registers the operators)

    make, shape = FINER[name]
    torch.manual_seed(5)
    net, x = make().eval(), torch.randn(*shape) * 3
    x[0, 1] = 0
    x[1, 2] = x[1, 2].abs() + 1
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    wanted = net(x).numpy()
    np.testing.assert_array_equal(run_natively([tmp_path / "net.pt2"], {"x": x.numpy()}, tmp_path)[0], wanted)
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.py")
    with torch.no_grad():
        np.testing.assert_array_equal(import_file(tmp_path / "port.py").load()(x).numpy(), wanted)
    if "float16" not in name:  # what ONNX Runtime has no kernels for, or joins in float32
        convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.onnx")
        np.testing.assert_array_equal(answer(tmp_path / "port.onnx", x.numpy()), wanted)


class Dynamic(nn.Module):
    """As programs are exported that choose their steps when they run."""

    def __init__(self, kind, half=False):
        super().__init__()
        self.choose = {"affine": DECOMPOSED.choose_qparams.tensor, "symmetric": DECOMPOSED.choose_qparams_symmetric.tensor}[kind[0]]
        self.dtype, self.least, self.most = {"int8": (torch.int8, -128, 127), "uint8": (torch.uint8, 0, 255),
                                             "narrow": (torch.int8, -127, 127), "int16": (torch.int16, -32768, 32767)}[kind[1]]
        self.eps, self.half = kind[2], half
        self.first, self.second = nn.Conv2d(3, 6, (3, 2)), nn.Linear(6, 4)

    def stepped(self, x):
        if self.half:
            x = x.to(torch.bfloat16)
        scale, zero = self.choose(x, self.least, self.most, self.eps, self.dtype)
        arguments = (scale, zero, self.least, self.most, self.dtype)
        return DECOMPOSED.dequantize_per_tensor.tensor(DECOMPOSED.quantize_per_tensor.tensor(x, *arguments), *arguments)

    def forward(self, x):
        y = torch.relu(self.first(self.stepped(x)))
        return self.second(self.stepped(y.mean((2, 3))))


def dynamic(kind, half, folder):
    import torch.ao.quantization.fx._decomposed  # noqa: F401 (registers the operators)

    torch.manual_seed(3)
    net = Dynamic(kind, half).eval()
    inputs = [torch.randn(*SHAPE), torch.rand(*SHAPE) + 2, -torch.rand(*SHAPE) * 1e-3, torch.zeros(*SHAPE)]
    torch.export.save(torch.export.export(net, (inputs[0],)), folder / "net.pt2")
    with torch.no_grad():
        return [(x.numpy(), net(x).numpy()) for x in inputs]


DYNAMIC = [("affine", "int8", 2.0**-12), ("affine", "uint8", 1.1920929e-07), ("affine", "int16", 1e-9), ("symmetric", "int8", 2.0**-12),
           ("symmetric", "narrow", 0.3), ("symmetric", "uint8", 2.0**-12)]


@pytest.mark.parametrize("kind,half", [*((kind, False) for kind in DYNAMIC), (DYNAMIC[0], True), (DYNAMIC[3], True)], ids=str)
def test_steps_that_a_program_chooses_are_those_of_pytorch(kind, half, tmp_path):
    sets = dynamic(kind, half, tmp_path)
    targets = ("port.onnx",) if half else ("port.onnx", "port.py", "port.keras", "port.tflite")
    for target in targets:
        convoy("port", tmp_path / "net.pt2", "-o", tmp_path / target, *(["--float32"] if half else []))
    for x, wanted in sets:
        got = run_natively([tmp_path / "net.pt2"], {"x": x}, tmp_path)[0]
        np.testing.assert_allclose(got, wanted, atol=2e-6)
        if not half:
            np.testing.assert_allclose(answer(tmp_path / "port.onnx", x), wanted, atol=2e-6)


# Numbers of the answer that may be off, and by how many of its steps.
INTERPRETED = {"mobile_int8": (0.34, 1), "hard_swish_int8": (0.34, 1), "pools_int8": (0.1, 1), "unet_int8": (0.25, 3)}
TFLITE = cases_in("corpus/tflite")


@pytest.mark.skipif(TFLITE is None, reason="no corpus")
@pytest.mark.parametrize("name", INTERPRETED)
def test_a_quantised_tflite_file_keeps_its_integers_in_onnx(name, tmp_path):
    import tensorflow as tf

    source = next((TFLITE / name).glob("*.tflite"))
    said = convoy("port", source, "-o", tmp_path / "port.onnx", "--quantized", "keep", "--interface", "source").stdout
    assert "against these kernels" in said
    reference = tf.lite.experimental.OpResolverType.BUILTIN_REF
    interpreter = tf.lite.Interpreter(model_path=str(source), experimental_op_resolver_type=reference)
    interpreter.allocate_tensors()
    wholes = [d for d in interpreter.get_tensor_details() if d["dtype"] == np.int8]
    mine = {onnx.numpy_helper.to_array(one).size for one in onnx.load(tmp_path / "port.onnx").graph.initializer
            if one.data_type == onnx.TensorProto.INT8 and one.dims}
    weights = {int(np.prod(d["shape"])) for d in wholes if d["name"] and "arith.constant" in d["name"] and len(d["shape"]) > 1}
    assert weights <= mine
    details, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    random = np.random.default_rng(4)
    share, steps = INTERPRETED[name]
    for _ in range(3):
        x = random.standard_normal(details["shape"]).astype("f4")
        if details["dtype"] != np.float32:
            x = random.integers(-128, 128, details["shape"]).astype(details["dtype"])
        interpreter.set_tensor(details["index"], x)
        interpreter.invoke()
        wanted = interpreter.get_tensor(result["index"]).astype("f8")
        got = answer(tmp_path / "port.onnx", x).astype("f8")
        scale = 1 if result["dtype"] != np.float32 else largest_scale(tmp_path / "port.onnx")
        assert np.mean(got != wanted) <= share
        assert np.abs(got - wanted).max() <= steps * scale * 1.001
    for target in ("port.py", "port.keras", "port.tflite"):
        convoy("port", source, "-o", tmp_path / target, "--quantized", "fake")


def largest_scale(path):
    model = onnx.load(path)
    numbers = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    return max(float(numbers[node.input[1]]) for node in model.graph.node if node.op_type == "QuantizeLinear")
