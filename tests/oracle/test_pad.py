"""Every line that `convoy pad` prints, run in its framework on whole numbers and compared with the layer it stands for."""
import ast
import json
import random
import subprocess
from types import SimpleNamespace

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
import torch
from carrying import CONVOY
from onnx import TensorProto, helper
from torch.nn import functional as F

RANDOM_LAYERS = 240


def answer(call, *options):
    """The JSON of `convoy pad`, or None where it refuses."""
    done = subprocess.run([CONVOY, "pad", call, "--json", *options], capture_output=True, text=True)
    assert done.returncode in (0, 2, 6), done.stderr
    return json.loads(done.stdout)["layers"] if done.returncode == 0 else None


# ---- random layers, as calls of PyTorch and Keras --------------------------------------------------------------


def drawn(seed):
    """A call, its framework, and the sizes of what it needs."""
    r = random.Random(seed)
    space = r.choice([1, 1, 2, 2, 2, 3])
    kind = r.choice(["conv", "conv", "conv", "transpose", "transpose", "max", "avg"])
    source = r.choice(["torch", "keras"])
    small = 3 if space == 3 else 5
    kernel = [r.randint(1, small) for _ in range(space)]
    stride = [r.randint(1, 3) for _ in range(space)]
    dilation = [1] * space
    if kind == "conv" and r.random() < 0.3:
        dilation = [r.randint(1, 3) for _ in range(space)]
        if source == "keras":
            stride = [1] * space
    if kind == "transpose" and r.random() < 0.2 and source == "torch":
        dilation = [r.randint(1, 2) for _ in range(space)]
    groups = r.choice([1, 1, 2, 4]) if kind == "conv" and space < 3 else 1
    channels, filters = (4, 8) if kind in ("conv", "transpose") else (2, 2)
    size = [r.randint(6, 11) for _ in range(space)]
    case = SimpleNamespace(kind=kind, source=source, space=space, kernel=kernel, groups=groups, channels=channels,
                           filters=filters, size=size)
    tuple_of = lambda numbers: "(" + ", ".join(map(str, numbers)) + ("," if space == 1 else "") + ")"  # noqa: E731
    if source == "torch":
        case.call = torch_call(r, case, stride, dilation, tuple_of)
    else:
        case.call = keras_call(r, case, stride, dilation, tuple_of)
    return case


def torch_call(r, case, stride, dilation, tuple_of):
    d, kernel = case.space, case.kernel
    window = f"{tuple_of(kernel)}, stride={tuple_of(stride)}"
    if case.kind == "conv":
        padding = tuple_of([r.randint(0, k) for k in kernel])
        if set(stride) == {1} and r.random() < 0.4:
            padding = "'same'"
        mode = r.choice([""] * 4 + [", padding_mode='reflect'", ", padding_mode='replicate'", ", padding_mode='circular'"])
        if mode:
            padding = tuple_of([r.randint(0, 2) for _ in kernel])
        return (f"nn.Conv{d}d({case.channels}, {case.filters}, {window}, padding={padding}, "
                f"dilation={tuple_of(dilation)}, groups={case.groups}{mode})")
    if case.kind == "transpose":
        padding = [r.randint(0, max(0, (k - 1) * s_ // 1)) for k, s_ in zip(kernel, dilation)]
        extra = [r.randint(0, max(s, s_) - 1) for s, s_ in zip(stride, dilation)]
        return (f"nn.ConvTranspose{d}d({case.channels}, {case.filters}, {window}, padding={tuple_of(padding)}, "
                f"output_padding={tuple_of(extra)}, dilation={tuple_of(dilation)})")
    padding = tuple_of([r.randint(0, k // 2) for k in kernel])
    ceil = r.random() < 0.4
    if case.kind == "max":
        return f"nn.MaxPool{d}d({window}, padding={padding}, ceil_mode={ceil})"
    count = r.random() < 0.5
    more = f", divisor_override={r.randint(1, 5)}" if d > 1 and r.random() < 0.2 else ""
    return f"nn.AvgPool{d}d({window}, padding={padding}, ceil_mode={ceil}, count_include_pad={count}{more})"


def keras_call(r, case, stride, dilation, tuple_of):
    d, kernel = case.space, tuple_of(case.kernel)
    padding = r.choice(["same", "same", "valid"] + (["causal"] if d == 1 and case.kind == "conv" else []))
    if case.kind == "conv":
        if case.groups == 4 and d < 3 and padding != "causal":
            if d == 2:
                stride = [stride[0]] * 2
            return (f"layers.DepthwiseConv{d}D({kernel}, strides={tuple_of(stride)}, padding='{padding}', "
                    f"depth_multiplier=2, dilation_rate={tuple_of(dilation)})")
        return (f"layers.Conv{d}D({case.filters}, {kernel}, strides={tuple_of(stride)}, padding='{padding}', "
                f"dilation_rate={tuple_of(dilation)}, groups={case.groups})")
    if case.kind == "transpose":
        extra = r.choice(["", f", output_padding={tuple_of([r.randint(0, s - 1) for s in stride])}"])
        return f"layers.Conv{d}DTranspose({case.filters}, {kernel}, strides={tuple_of(stride)}, padding='{padding}'{extra})"
    name = "MaxPooling" if case.kind == "max" else "AveragePooling"
    return f"layers.{name}{d}D({kernel}, strides={tuple_of(stride)}, padding='{padding}')"


# ---- the frameworks, with the layer's weights in them --------------------------------------------------------------


class Weights:
    """A kernel in PyTorch's order and a bias, of whole numbers."""

    def __init__(self, case):
        rng = np.random.default_rng(7)
        if case.kind == "transpose":
            shape = (case.channels, case.filters, *case.kernel)
        else:
            shape = (case.filters, case.channels // case.groups, *case.kernel)
        self.transposed, self.case = case.kind == "transpose", case
        self.kernel = rng.integers(-3, 4, shape).astype("float32")
        self.bias = rng.integers(-9, 10, case.filters).astype("float32")

    def last(self):
        """In Keras' and TensorFlow's order; a depthwise kernel as [k..., C, M]."""
        space = list(range(2, self.kernel.ndim))
        if not self.transposed and self.case.groups == self.case.channels:
            split = self.kernel.reshape(self.case.channels, -1, *self.case.kernel)
            return split.transpose(*range(2, split.ndim), 0, 1)
        return self.kernel.transpose(*space, 1, 0)


def in_torch(weights):
    def made(cls):
        def make(*arguments, **keywords):
            module = cls(*arguments, **keywords)
            if hasattr(module, "weight"):
                module.weight.data = torch.tensor(weights.kernel)
            if getattr(module, "bias", None) is not None:
                module.bias.data = torch.tensor(weights.bias)
            return module

        return make

    names = [n for n in dir(torch.nn) if n[0].isupper() and isinstance(getattr(torch.nn, n), type)]
    return {"nn": SimpleNamespace(**{n: made(getattr(torch.nn, n)) for n in names}), "F": F, "torch": torch,
            "b": None if weights.bias is None else torch.tensor(weights.bias)}


def in_keras(weights):
    def made(cls):
        def make(*arguments, **keywords):
            layer = cls(*arguments, **keywords)

            def run(x):
                layer(x)
                if layer.weights:
                    kernel = weights.last()
                    if len(layer.weights[0].shape) == kernel.ndim and tuple(layer.weights[0].shape) != kernel.shape:
                        space = range(2, weights.kernel.ndim)  # a depthwise kernel as one with groups
                        kernel = weights.kernel.transpose(*space, 1, 0)
                    layer.set_weights([kernel] + [weights.bias] * (len(layer.weights) - 1))
                return layer(x)

            return run

        return make

    names = [n for n in dir(keras.layers) if n[0].isupper()]
    return {"layers": SimpleNamespace(**{n: made(getattr(keras.layers, n)) for n in names}), "keras": keras}


class Node:
    """One ONNX operator, run alone."""

    def __init__(self, kind, weights, arguments, attributes):
        self.kind, self.weights, self.arguments, self.attributes = kind, weights, arguments, attributes
        self.biased = True

    def __call__(self, x):
        if self.kind == "Mul":
            return x * np.float32(self.arguments[0])
        inputs = {"x": x}
        if self.kind in ("Conv", "ConvTranspose"):
            inputs["w"] = self.weights.kernel
            if self.biased:
                inputs["b"] = self.weights.bias
        attributes = dict(self.attributes)
        if self.kind == "Pad":
            inputs["pads"] = np.array(attributes.pop("pads"), "int64")
            if "value" in attributes:
                inputs["value"] = np.array(attributes.pop("value"), "float32")
        kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
        node = helper.make_node(self.kind, list(inputs), ["y"], **attributes)
        graph = helper.make_graph(
            [node], "one", [helper.make_tensor_value_info(n, kinds[str(a.dtype)], a.shape) for n, a in inputs.items()],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        return onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)[0]


def in_onnx(weights):
    kinds = ["Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "Pad", "Mul"]
    return {k: (lambda *a, _k=k, **attributes: Node(_k, weights, a, attributes)) for k in kinds} | {"inf": np.inf}


def channels_last(x):
    return np.moveaxis(x, 1, -1)


def run_line(line, case, weights, x):
    """The line applied to x [N, C, n...], back in the same order."""
    framework, biased = line["framework"], case.kind in ("conv", "transpose")
    behind = "bias is added" in line.get("remark", "")
    names = {"c": case.channels, "filters": case.filters, "n": x.shape[0]}
    if framework == "PyTorch":
        names |= in_torch(weights) | {"x": torch.tensor(x)}
    elif framework == "ONNX":
        names |= in_onnx(weights) | {"x": x}
    elif framework == "Keras":
        names |= in_keras(weights) | {"x": tf.constant(channels_last(x))}
    else:
        names |= {"tf": tf, "x": tf.constant(channels_last(x))}
        if biased:
            names["w"] = tf.constant(weights.last())
    for text in line["code"]:
        statement = ast.parse(text).body[0]
        if not isinstance(statement, ast.Expr):
            exec(text, names)
            continue
        value = eval(text, names)
        if isinstance(value, Node) and behind:
            value.biased = False
        names["x"] = value(names["x"]) if callable(value) and not isinstance(value, torch.Tensor) else value
    y = np.asarray(names["x"].detach() if framework == "PyTorch" else names["x"])
    if biased and (framework == "TensorFlow" or behind):
        y = y + (weights.bias if framework in ("TensorFlow", "Keras")
                 else weights.bias.reshape(-1, *[1] * case.space))
    return y if framework in ("PyTorch", "ONNX") else np.moveaxis(y, -1, 1)


def original(case, weights, x):
    """What the layer itself answers, or None where it refuses the size."""
    try:
        framework = "PyTorch" if case.source == "torch" else "Keras"
        return run_line({"framework": framework, "code": [case.call]}, case, weights, x)
    except (RuntimeError, ValueError, tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
        return None


# Refused by TensorFlow's plain CPU kernels, as the remarks say.
NOT_ON_CPU = ("dilation rates larger than 1", "dilated rates of 1", "do not yet support dilation", "No OpKernel", "Unimplemented",
              "not supported", "only supports equal length strides", "Current implementation only supports")


@pytest.mark.sampled(80)
@pytest.mark.parametrize("seed", range(RANDOM_LAYERS))
def test_every_printed_line_computes_the_layer(seed):
    case = drawn(seed)
    weights = Weights(case) if case.kind in ("conv", "transpose") else None
    weights = weights or SimpleNamespace(kernel=None, bias=None)
    rng = np.random.default_rng(seed)
    made = lambda size: rng.integers(-9, 10, (2, case.channels, *size)).astype("float32")  # noqa: E731
    x = made(case.size)
    want = original(case, weights, x)
    size = "x".join(map(str, case.size))
    told = answer(case.call, "--size", size, "--channels", str(case.channels))
    if want is None or 0 in want.shape:
        return  # what the frameworks refuse is held to the recorded calls
    assert told is not None, f"{case.call} runs on {size}, convoy refuses it"
    assert [a["out"] for a in told[-1]["axes"]] == list(want.shape[2:]), case.call
    if any("break their own rule" in note for note in told[-1].get("notes", [])):
        return  # a recorded deviation: the framework's numbers are not what its words mean
    anywhere = answer(case.call, "--channels", str(case.channels))
    others = [x, made([n + 1 for n in case.size]), made([n + 2 for n in case.size])]
    lines = [(line, others if line.get("holds") == "every size" else [x]) for line in told[0]["equivalents"]]
    lines += [(line, others) for line in (anywhere or told)[0]["equivalents"] if line.get("holds") == "every size"]
    checked = 0
    for line, inputs in lines:
        if not line["code"] or line["framework"] not in ("PyTorch", "Keras", "TensorFlow", "ONNX"):
            continue
        for sample in inputs:
            wanted = original(case, weights, sample)
            if wanted is None:
                continue
            if line["framework"] == "TensorFlow" and told[0]["axes"][0]["size"] and sample is not x:
                if "_transpose" in line["code"][0] and "x.shape" not in line["code"][0]:
                    continue  # its output_shape is written for the size asked about
            where = f"{case.call} at {sample.shape[2:]}: {line}"
            try:
                got = run_line(line, case, weights, sample)
            except Exception as e:
                refused_as_written = "in conjunction with" in str(e)  # by Keras, whatever runs below it
                if line["framework"] in ("TensorFlow", "Keras") and any(words in str(e) for words in NOT_ON_CPU) and not refused_as_written:
                    continue
                raise AssertionError(where) from e
            if not line["equal"]:
                if line.get("remark", "").startswith("not equal"):
                    assert got.shape != wanted.shape or (got != wanted).any(), where
                continue
            assert got.shape == wanted.shape, f"{where}: {got.shape}, wanted {wanted.shape}"
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4, err_msg=where)
            checked += 1
    assert checked > 0, f"{case.call}: no line was run"


def test_the_classic_questions_are_answered():
    told = answer("F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1)", "--kernel", "3", "--size", "10")
    assert told[0]["axes"][0]["out"] == 20
    assert told[0]["numbers"] == {"x": [1, 10, 100], "w": [1, 2, 3], "this layer": [2, 13, 20, 130, 200, 300],
                                  "SAME": [1, 2, 13, 20, 130, 200]}
