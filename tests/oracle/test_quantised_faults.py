"""Mistakes of quantisation in models of ONNX Runtime's quantiser (mutation/steps.py), of TFLite's converter and in exported PyTorch
programs: `convoy diff` names each, and says what each layer of a quantised model loses beside the model that it was made of."""
import json

import numpy as np
import onnx
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 (registers the operators)
from carrying import convoy
from mutation import steps
from mutation.net import Net
from mutation.tflite_file import Flat
from onnxruntime.quantization import QuantFormat, quantize_static
from quantised_models import KINDS, Numbers, carried_float, float_model, made, quantised_model


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quantised")
    return [(quantised_model(name, kind, channels, folder / f"{name}_{kind}"), folder)
            for name, kind, channels in (("chain", "u8", True), ("residual", "s8", True))]


def named_nodes(net, operators):
    return [node.name for node in net.graph.node if node.op_type in operators]


@pytest.mark.parametrize("which", range(len(steps.MISTAKES)))
def test_a_mistake_of_quantisation_is_named(models, which, tmp_path):
    cause, operators, make = steps.MISTAKES[which]
    asked, missed = 0, []
    for source, _ in models:
        for name in named_nodes(Net(onnx.load(source)), operators):
            net = Net(onnx.load(source))
            before = net.run(net.feed(0))
            node = next(n for n in net.graph.node if n.name == name)
            if not make(net, node) or (net.run(net.feed(0))[0] == before[0]).all():
                continue
            onnx.save(net.model, tmp_path / "b.onnx")
            found = json.loads(convoy("diff", source, tmp_path / "b.onnx", "--json", code=1).stdout)["differences"]
            asked += 1
            if cause not in [found[0]["cause"], *found[0]["also"]]:
                missed.append((source.parent.name, name, [(d["a"], d["cause"]) for d in found]))
            if asked == 4:
                break
    assert asked > 0
    assert not missed, missed


def test_the_layers_of_a_quantised_twin_say_what_they_lose(models):
    for source, _ in models:
        found = json.loads(convoy("diff", source.parent / "float.onnx", source, "--json", code=1).stdout)
        assert not found["differences"]
        losses = [one["decibels"] for one in found["losses"]]
        assert len(losses) > 2 and losses == sorted(losses) and losses[0] > 0


# ---- products of whole numbers ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("net", ["plain", "residual"])
def test_products_of_whole_numbers_are_told_as_steps_of_real_ones(net):
    whole, real = made(net, "qoperator", False), carried_float(net)
    found = json.loads(convoy("diff", real, whole, "--json", code=1).stdout)
    assert not found["differences"], [(one["a"], one["cause"]) for one in found["differences"]]
    losses = [one["decibels"] for one in found["losses"]]
    assert len(losses) >= 2 and losses == sorted(losses)
    assert found["outputs_largest"] > 0
    convoy("diff", whole, made(net, "qdq_u8u8", False))
    convoy("diff", made(net, "qdq_u8u8", False), whole)


def changed(source, target, name, change):
    model = onnx.load(source)
    held = next(t for t in model.graph.initializer if name(t.name))
    numbers = onnx.numpy_helper.to_array(held)
    held.CopyFrom(onnx.numpy_helper.from_array(np.asarray(change(numbers)).astype(numbers.dtype).reshape(numbers.shape), held.name))
    onnx.save(model, target)


def of_result(part):
    """The numbers of what the convolution in the middle gives."""
    return lambda name: "depth" not in name and "/point/Conv_output" in name and name.endswith(part)


MISSAID = [("quant_zero_point", of_result("zero_point"), lambda z: z.astype(int) + (9 if z < 128 else -9), "zero point"),
           ("quant_scale", of_result("scale"), lambda scale: scale * np.float32(1.3), "scale"),
           ("quant_scale", lambda name: name == "point.weight_scale", lambda scale: scale * np.float32(1.5), "weights of 1.5 times"),
           ("quant_zero_point", lambda name: name == "point.weight_zero_point", lambda z: z.astype(int) + 5, "weights moved by -5 steps"),
           ("quant_scale", lambda name: name.startswith("point.bias") and name.endswith("quantized"), lambda b: b * 2, "bias of 2 times")]


@pytest.mark.parametrize("cause,name,change,says", MISSAID, ids=["zero", "scale", "weights", "zero of weights", "bias"])
@pytest.mark.parametrize("form", ["qoperator", "qdq_u8u8"])
def test_a_scale_or_zero_point_of_one_value_is_named_with_its_numbers(form, cause, name, change, says, tmp_path):
    source = made("residual", form, False)
    changed(source, tmp_path / "b.onnx", name, change)
    found = json.loads(convoy("diff", source, tmp_path / "b.onnx", "--json", code=1).stdout)["differences"]
    assert [one["cause"] for one in found] == [cause], [(one["a"], one["cause"], one["change"]) for one in found]
    assert says in found[0]["change"] and "point" in found[0]["a"], found[0]
    if says == "zero point":
        assert found[0]["fix"]["torch"].startswith("x = torch.fake_quantize_per_tensor_affine(x, ")


def test_a_bias_of_another_scale_is_no_rounding(tmp_path):
    changed(made("residual", "qdq_u8u8", False), tmp_path / "b.onnx",
            lambda name: name.startswith("point.bias") and name.endswith("quantized"), lambda b: b * 4)
    found = json.loads(convoy("diff", carried_float("residual"), tmp_path / "b.onnx", "--json", code=1).stdout)["differences"]
    assert [("point" in one["a"], one["cause"]) for one in found] == [(True, "quant_scale")], found


@pytest.mark.parametrize("name", ["pooled", "upward"])
def test_both_formats_of_a_quantised_model_differ_by_their_scales_alone(name, tmp_path):
    """Steps behind a maximum, a flatten or a resize are those in front of it; of the average the two formats hold other scales."""
    _, source = float_model(name, tmp_path)
    activations, weights = KINDS["u8"]
    for form in (QuantFormat.QDQ, QuantFormat.QOperator):
        quantize_static(source, tmp_path / f"{form}.onnx", Numbers(), quant_format=form, per_channel=True,
                        activation_type=activations, weight_type=weights)
    pairs = [tmp_path / "QDQ.onnx", tmp_path / "QOperator.onnx"]
    for a, b in (pairs, pairs[::-1]):
        found = json.loads(convoy("diff", a, b, "--json", code=1 if name == "pooled" else 0).stdout)["differences"]
        assert all("AveragePool" in one["a"] and one["cause"] in ("quant_saturates", "quant_steps_of_another") for one in found), found
        assert len(found) == (name == "pooled"), found
    assert not json.loads(convoy("diff", source, pairs[1], "--json", code=1).stdout)["differences"]


def one_of(numbers, change):
    """Changed in one channel of several."""
    return np.where(np.arange(numbers.size).reshape(numbers.shape) == 1, change(numbers), numbers)


def of_weights(part):
    return lambda name: name.startswith("point.weight") and name.endswith(part)


def of_bias(part):
    return lambda name: name.startswith("point.bias") and name.endswith(part)


TWINS = [("quant_scale", of_weights("scale"), lambda s: s * np.float32(2), "weights of 2 times the scale:"),
         ("quant_scale", of_weights("scale"), lambda s: s * np.float32(1.1), "weights of 1.1 times the scale:"),
         ("quant_scale", of_weights("scale"), lambda s: one_of(s, lambda s: s * np.float32(0.5)), "weights of 0.5 times the scale in channel 1:"),
         ("quant_zero_point", of_weights("zero_point"), lambda z: z.astype(int) + 3, "weights moved by -3 steps: a zero point of 3 less"),
         ("quant_zero_point", of_weights("zero_point"), lambda z: one_of(z.astype(int), lambda z: z + 3), "weights moved by -3 steps in channel 1"),
         ("quant_scale", of_bias("quantized"), lambda b: b * 2, "a bias of 2 times the scale,"),
         ("quant_scale", of_bias("quantized"), lambda b: one_of(b, lambda b: b * 3), "a bias of 3 times the scale in channel 1,"),
         ("bias_missing", of_bias("quantized"), lambda b: b * 0, "no bias")]


@pytest.mark.parametrize("cause,name,change,says", TWINS, ids=[says for *_, says in TWINS])
@pytest.mark.parametrize("form,channels", [("qoperator", False), ("qdq_u8", True), ("qdq_s8", False), ("qdq_u8u8", True)])
def test_a_scale_or_zero_point_of_weights_is_named_beside_the_float_model(form, channels, cause, name, change, says, tmp_path):
    source = made("residual", form, channels)
    if "in channel" in says and name is not TWINS[6][1] and not channels:
        pytest.skip("one scale for all channels")
    changed(source, tmp_path / "b.onnx", name, change)
    found = json.loads(convoy("diff", carried_float("residual"), tmp_path / "b.onnx", "--json", code=1).stdout)["differences"]
    assert [(one["a"], one["cause"]) for one in found] == [("/point/Conv", cause)], [(one["a"], one["cause"], one["change"]) for one in found]
    assert says in found[0]["change"], found[0]
    found = json.loads(convoy("diff", tmp_path / "b.onnx", carried_float("residual"), "--json", code=1).stdout)["differences"]
    assert [(one["b"], one["cause"]) for one in found] == [("/point/Conv", cause)], [(one["a"], one["cause"], one["change"]) for one in found]


def test_numbers_beyond_calibrated_ranges_are_said(tmp_path):
    said = convoy("diff", carried_float("residual"), made("residual", "qdq_u8u8", False), code=1).stdout
    assert "of that without any steps, for numbers beyond the range of a rounding" in said, said


@pytest.mark.parametrize("scale", [0.01005, 0.0101])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_scale_of_one_channel_of_weights_is_a_number_of_the_model(scale, seed, tmp_path):
    """It moves few answers by a step: the rest lie between the same two halves."""
    draw = np.random.default_rng(1)
    weight, bias = draw.integers(-128, 128, (8, 4, 3, 3)).astype("int8"), draw.integers(-3000, 3000, 8).astype("int32")

    def net(path, scales):
        held = {"sx": np.float32(0.04), "zx": np.uint8(120), "w": weight, "ws": np.float32(scales),
                "wz": np.zeros(8, "int8"), "b": bias, "bs": np.float32(0.0004), "sy": np.float32(0.3), "zy": np.uint8(77)}
        quantize, widen = ("QuantizeLinear", "DequantizeLinear")
        nodes = [onnx.helper.make_node(quantize, ["x", "sx", "zx"], ["q"]),
                 onnx.helper.make_node(widen, ["q", "sx", "zx"], ["d"]),
                 onnx.helper.make_node(widen, ["w", "ws", "wz"], ["wf"], axis=0),
                 onnx.helper.make_node(widen, ["b", "bs"], ["bf"]),
                 onnx.helper.make_node("Conv", ["d", "wf", "bf"], ["c"], pads=[1] * 4),
                 onnx.helper.make_node(quantize, ["c", "sy", "zy"], ["yq"]),
                 onnx.helper.make_node(widen, ["yq", "sy", "zy"], ["y"])]
        x, y = (onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", [1, 4, 6, 6]), ("y", None)))
        graph = onnx.helper.make_graph(nodes, "g", [x], [y], [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in held.items()])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), path)

    net(tmp_path / "a.onnx", [0.01] * 8)
    net(tmp_path / "b.onnx", [0.01] * 7 + [scale])
    found = json.loads(convoy("diff", tmp_path / "a.onnx", tmp_path / "b.onnx", "--seed", seed, "--json", code=1).stdout)
    assert [one["a"] for one in found["differences"]] == ["c"]
    convoy("diff", tmp_path / "a.onnx", tmp_path / "a.onnx", "--seed", seed)


# ---- TFLite's converter ----------------------------------------------------------------------------------------------

def keras_network():
    import keras
    from keras import layers

    keras.utils.set_random_seed(3)
    x = inputs = keras.Input((12, 17, 3), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="first")(x)
    y = layers.DepthwiseConv2D(3, padding="same", activation="relu6", name="depth")(x)
    x = layers.Add(name="sum")([layers.Conv2D(8, 1, name="point")(y), x])
    x = layers.Flatten()(layers.AveragePooling2D((2, 3), name="pool")(x))
    net = keras.Model(inputs, layers.Dense(4, name="last")(layers.Dense(40, name="dense", activation="tanh")(x)))
    for i, bias in enumerate(w for w in net.weights if w.name == "bias"):
        bias.assign(np.random.default_rng(i).uniform(-0.3, 0.3, bias.shape))
    return net


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    return converted_models(tmp_path_factory.mktemp("converted"))


def converted_models(folder):
    """A Keras file, and by kind what TFLite's converter makes of it."""
    import tensorflow as tf

    net = keras_network()
    net.save(folder / "net.keras")
    random = np.random.default_rng(1)
    seen = [[random.standard_normal((1, 12, 17, 3)).astype("f4")] for _ in range(8)]
    whole, wide = tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    for kind, operators, ends in (("int8", whole, None), ("int8 outside", whole, tf.int8), ("uint8 outside", whole, tf.uint8),
                                  ("int16x8", wide, None), ("dynamic", None, None)):
        made = tf.lite.TFLiteConverter.from_keras_model(net)
        made.optimizations = [tf.lite.Optimize.DEFAULT]
        if operators:
            made.representative_dataset = lambda: iter(seen)
            made.target_spec.supported_ops = [operators]
        if ends:
            made.inference_input_type = made.inference_output_type = ends
        (folder / f"{kind}.tflite").write_bytes(made.convert())
    return folder


@pytest.mark.parametrize("kind,best", [("int8", 60), ("int8 outside", 60), ("uint8 outside", 60), ("int16x8", 60), ("dynamic", 80)])
def test_a_tflite_file_says_what_its_layers_lose(converted, kind, best):
    found = json.loads(convoy("diff", converted / "net.keras", converted / f"{kind}.tflite", "--json", code=1).stdout)
    assert not found["differences"]
    losses = {one["a"]: one["decibels"] for one in found["losses"]}
    quantised = {"dense"} if kind == "dynamic" else {"first", "depth", "point", "sum", "dense", "last"}
    assert quantised <= set(losses), losses
    assert all(8 < losses[name] < best for name in quantised), losses


def test_integers_outside_stand_for_real_numbers(converted, tmp_path):
    """The same file with and without whole numbers outside, and the loss that numpy measures behind TFLite's own kernels."""
    import tensorflow as tf

    convoy("diff", converted / "int8.tflite", converted / "int8 outside.tflite")
    x = np.random.default_rng(5).standard_normal((1, 12, 17, 3)).astype("f4")
    file = converted / "int8 outside.tflite"
    made = tf.lite.Interpreter(str(file), experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_REF)
    made.allocate_tensors()
    (taken,), (given,) = made.get_input_details(), made.get_output_details()
    scale, zero = taken["quantization"]
    whole = np.clip(np.round(x / np.float32(scale)) + zero, -128, 127).astype("i1")
    made.set_tensor(taken["index"], whole)
    made.invoke()
    step, middle = given["quantization"]
    got = (made.get_tensor(given["index"]).astype("f8") - middle) * step
    wanted = np.asarray(keras_network_of(converted)(x)).astype("f8")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "whole.npy", whole)
    for a, b, numbers in ((converted / "net.keras", file, "x.npy"), (file, converted / "int8.tflite", "whole.npy")):
        code = 1 if a.suffix == ".keras" else 0
        found = json.loads(convoy("diff", a, b, "--input", tmp_path / numbers, "--json", code=code).stdout)
        if code:
            last = next(one["together"] for one in found["losses"] if one["a"] == "last")
    # What the answer loses but for its own rounding to steps, which adds step^2 / 12 to the square of the noise.
    noise = np.mean((got - wanted) ** 2)
    assert last > 10 * np.log10(np.mean(wanted**2) / noise) - 1.5
    assert 10 * np.log10(np.mean(wanted**2) / (noise + step**2)) < last


def keras_network_of(folder):
    import keras

    return keras.models.load_model(folder / "net.keras")


def scale_of(tensor):
    return np.float32(tensor.quantization.scale[0])


def other_scale(flat):
    first, *_, last = (t for t in flat.activations() if b"sum" in t.name or b"dense" in t.name or b"first" in t.name)
    first.quantization.scale = np.array(last.quantization.scale, "f4")
    first.quantization.zeroPoint = np.array(last.quantization.zeroPoint)


def zero_moved(flat):
    one = next(t for t in flat.activations() if b"sum" in t.name)
    one.quantization.zeroPoint = np.array(one.quantization.zeroPoint) + 7


def made_symmetric(flat):
    one = next(t for t in flat.activations() if b"sum" in t.name)
    one.quantization.scale = np.array([scale_of(one) * 1.7], "f4")
    one.quantization.zeroPoint = np.array([0])


def made_narrow(flat):
    one = next(t for t in flat.activations() if b"sum" in t.name)
    one.quantization.scale = np.array([scale_of(one) * 0.4], "f4")


def one_scale(flat):
    one = next(t for t in flat.weights() if len(t.quantization.scale) > 1 and b"point" in t.name)
    numbers, scales = flat.numbers(one), np.array(one.quantization.scale, "f4")
    axis = one.quantization.quantizedDimension
    real = numbers * scales.reshape([-1 if i == axis else 1 for i in range(numbers.ndim)])
    step = np.abs(real).max() / 127
    flat.hold(one, np.round(real / step))
    one.quantization.scale = np.full_like(scales, step)


def rounded_again(flat):
    one = next(t for t in flat.weights() if b"point" in t.name)
    numbers = flat.numbers(one)
    flat.hold(one, np.clip(numbers.astype(int) + np.random.default_rng(3).integers(0, 2, numbers.shape), -127, 127))


FAULTS = [("quant_steps_of_another", other_scale), ("quant_zero_point", zero_moved), ("quant_symmetric", made_symmetric),
          ("quant_saturates", made_narrow), ("quant_per_tensor", one_scale), ("weights_rounded_twice", rounded_again)]


@pytest.mark.parametrize("cause,make", FAULTS, ids=[make.__name__ for _, make in FAULTS])
@pytest.mark.parametrize("kind", ["int8", "int8 outside"])
def test_a_mistake_in_a_tflite_file_is_named(converted, kind, cause, make, tmp_path):
    flat = Flat(converted / f"{kind}.tflite")
    make(flat)
    flat.save(tmp_path / "b.tflite")
    found = json.loads(convoy("diff", converted / f"{kind}.tflite", tmp_path / "b.tflite", "--json", code=1).stdout)["differences"]
    assert found[0]["cause"] == cause, [(one["a"], one["cause"], one["change"]) for one in found]


# ---- PyTorch's exported programs -------------------------------------------------------------------------------------

DECOMPOSED = torch.ops.quantized_decomposed


class Exported(torch.nn.Module):
    """As PT2E writes a convolution, a maximum and a dense layer: rounded by inverse scales, weights as whole numbers."""

    def __init__(self, steps, weight):
        super().__init__()
        self.steps, (whole, self.scales) = steps, weight
        self.register_buffer("whole", whole)
        self.bias, self.dense = torch.nn.Parameter(torch.linspace(-0.3, 0.4, 6)), torch.nn.Linear(6, 5)

    def rounded(self, x, which):
        if self.steps is None:
            return x
        words = (*self.steps[which], -128, 127, torch.int8)
        return DECOMPOSED.dequantize_per_tensor(DECOMPOSED.quantize_per_tensor(x, *words), *words)

    def forward(self, x):
        zeros = torch.zeros(6, dtype=torch.int64)
        weight = self.whole if self.whole.is_floating_point() else DECOMPOSED.dequantize_per_channel(
            self.whole, self.scales, zeros, 0, -127, 127, torch.int8)
        x = torch.conv2d(self.rounded(x, 0), weight, self.bias, padding=1)
        x = self.rounded(torch.max_pool2d(self.rounded(x, 1), 2), 1)
        return self.rounded(self.dense(self.rounded(x.mean((2, 3)), 2)), 3)


STEPS = [(0.031, 4), (0.017, -7), (0.0093, 12), (0.0051, 21)]
REAL = 0.2 * torch.randn(6, 3, 3, 2, generator=torch.Generator().manual_seed(1))
SCALES = REAL.abs().amax((1, 2, 3)) / 127
WHOLE = torch.round(REAL / SCALES.reshape(-1, 1, 1, 1)).to(torch.int8)


def exported(path, steps=tuple(STEPS), weight=(WHOLE, SCALES)):
    torch.manual_seed(2)
    module = Exported(steps, weight).eval()
    torch.export.save(torch.export.export(module, (torch.randn(2, 3, 9, 14),)), path)
    return path


def with_steps(which, steps):
    return {"steps": tuple(steps if i == which else own for i, own in enumerate(STEPS))}


PROGRAMS = [("quant_steps_of_another", with_steps(1, STEPS[3])), ("quant_zero_point", with_steps(2, (0.0093, 3))),
            ("quant_symmetric", with_steps(3, (0.0064, 0))), ("quant_saturates", with_steps(2, (0.004, 12))),
            ("quant_scale", with_steps(0, (0.0325, 4))),
            ("quant_per_tensor", {"weight": (torch.round(REAL / SCALES.max()).to(torch.int8), SCALES.max().repeat(6))}),
            ("weights_rounded_twice", {"weight": (WHOLE + (torch.arange(WHOLE.numel()) % 3 == 0).reshape(WHOLE.shape) *
                                                  (WHOLE < 100), SCALES)})]


@pytest.mark.parametrize("cause,change", PROGRAMS, ids=[f"{cause}-{i}" for i, (cause, _) in enumerate(PROGRAMS)])
def test_a_mistake_in_an_exported_program_is_named(cause, change, tmp_path):
    a, b = exported(tmp_path / "a.pt2"), exported(tmp_path / "b.pt2", **change)
    found = json.loads(convoy("diff", a, b, "--json", code=1).stdout)["differences"]
    assert {one["cause"] for one in found} == {cause}, [(one["a"], one["cause"], one["change"]) for one in found]


@pytest.mark.parametrize("channels,says", [(range(6), "weights of 1.1 times the scale:"), ([1], "weights of 1.1 times the scale in channel 1:")])
@pytest.mark.parametrize("steps", [tuple(STEPS), None], ids=["all", "weights alone"])
def test_a_scale_of_the_weights_of_a_program_is_named_beside_the_float_one(steps, channels, says, tmp_path):
    scales = SCALES * torch.tensor([1.1 if i in channels else 1 for i in range(6)])
    a, b = exported(tmp_path / "a.pt2", None, (REAL, SCALES)), exported(tmp_path / "b.pt2", steps, (WHOLE, scales))
    found = json.loads(convoy("diff", a, b, "--json", code=1).stdout)["differences"]
    assert [one["cause"] for one in found] == ["quant_scale"], found
    assert found[0]["change"].startswith(says), found


@pytest.mark.parametrize("steps", [tuple(STEPS), None], ids=["all", "weights alone"])
def test_an_exported_program_says_what_its_layers_lose(steps, tmp_path):
    a, b = exported(tmp_path / "a.pt2", None, (REAL, SCALES)), exported(tmp_path / "b.pt2", steps)
    found = json.loads(convoy("diff", a, b, "--json", code=1).stdout)
    assert not found["differences"]
    losses = [one["decibels"] for one in found["losses"]]
    assert losses and losses == sorted(losses) and 5 < losses[0] < 60
