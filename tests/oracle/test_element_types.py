"""Models that compute in float16, bfloat16 and float64: run natively, and carried, against the frameworks themselves. Kernels keep
sums in float32 and round once behind each operator; what a framework does otherwise is within a rounding or two of that."""

import importlib.util

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from carrying import convoy, plain_session
from torch import nn

ULP = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-52}


class Mobile(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.dense = nn.Linear(8, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        y = y + torch.sigmoid(self.depthwise(y))
        y = nn.functional.max_pool2d(y, 2)
        return torch.softmax(self.dense(y.mean((2, 3))), -1)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 6)
        self.norm = nn.LayerNorm(6)
        self.conv = nn.Conv1d(6, 4, 3, padding=1)
        self.slope = nn.PReLU(4)

    def forward(self, x):
        y = self.norm(self.table(x)).transpose(1, 2)
        return self.slope(self.conv(y)) * 0.5 + 1


def made(kind, dtype):
    torch.manual_seed(3)
    net = {"mobile": Mobile, "sequence": Sequence}[kind]()
    for name, buffer in net.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_()
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2)
    net = net.eval().to(getattr(torch, dtype))
    x = torch.randint(0, 11, (2, 7)) if kind == "sequence" else torch.randn(2, 3, 9, 12).to(getattr(torch, dtype))
    return net, x


def numbers(tensor):
    """As an array that a .npy file can hold."""
    return tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def agree(got, wanted, dtype, roundings):
    got, wanted = np.asarray(got, "f8"), np.asarray(wanted, "f8")
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= roundings * ULP[dtype] * np.abs(wanted).max()


CASES = [(kind, dtype) for kind in ("mobile", "sequence") for dtype in ("float16", "bfloat16", "float64")]


@pytest.mark.parametrize("kind,dtype", CASES)
def test_an_exported_program_is_run_and_carried_in_its_type(kind, dtype, tmp_path):
    net, x = made(kind, dtype)
    with torch.no_grad():
        wanted = net(x)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    np.save(tmp_path / "x.npy", numbers(x))
    convoy("run", tmp_path / "net.pt2", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    got = np.load(tmp_path / "y.npy")
    assert got.dtype == (np.float32 if dtype == "bfloat16" else np.dtype(dtype))
    agree(got, wanted.double(), dtype, 2)

    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.py")
    spec = importlib.util.spec_from_file_location("port", tmp_path / "port.py")
    port = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(port)
    with torch.no_grad():
        answer = port.load()(x)
    assert answer.dtype == wanted.dtype
    agree(answer.double(), wanted.double(), dtype, 2)
    assert all(p.dtype == wanted.dtype for p in port.load().parameters())

    opset = ["--opset", 22] if dtype == "bfloat16" else []
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.onnx", *opset)
    onnx.checker.check_model(onnx.load(tmp_path / "port.onnx"), full_check=True)
    convoy("run", tmp_path / "port.onnx", "--input", tmp_path / "x.npy", "-o", tmp_path / "z.npy")
    agree(np.load(tmp_path / "z.npy"), wanted.double(), dtype, 2)
    if dtype == "float16":
        session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
        (answer,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        assert answer.dtype == np.float16
        agree(answer, wanted.double(), dtype, 4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("suffix", ["py", "onnx", "keras", "tflite"])
def test_any_of_them_is_carried_in_float32_when_asked(dtype, suffix, tmp_path):
    net, x = made("mobile", dtype)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    said = convoy("port", tmp_path / "net.pt2", "-o", tmp_path / f"port.{suffix}", "--float32").stdout
    assert f"{dtype} becomes float32" in said and "layers that lose most" in said


def test_onnx_takes_convolutions_of_bfloat16_late(tmp_path):
    net, x = made("mobile", "bfloat16")
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    said = convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.onnx", code=6).stderr
    assert "Conv of bfloat16 needs operator set 22, this is 17: add --opset 22" in said


def test_a_float32_model_is_carried_in_float16_when_asked(tmp_path):
    net, x = made("mobile", "float32")
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    said = convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.onnx", "--float16").stdout
    assert "float32 becomes float16" in said and "the outputs move by" in said
    session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
    (answer,) = session.run(None, {session.get_inputs()[0].name: x.half().numpy()})
    with torch.no_grad():
        agree(answer, net.half()(x.half()).double(), "float16", 4)


def test_onnx_runtime_keeps_halves_wide_between_nodes(tmp_path):
    """It casts to float32 in front of each node and back behind it, and takes out what follows each other of these."""
    nodes = [("Mul", "xa", "t"), ("Sub", "tx", "u"), ("Mul", "ub", "y")]
    halves = [onnx.numpy_helper.from_array(np.float16(value), name) for name, value in (("a", 1.001), ("b", 3.3))]
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT16, [64]) for name in "xy"]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(kind, list(reads), [makes]) for kind, reads, makes in nodes], "g", values[:1], values[1:], halves
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    x = np.random.default_rng(0).standard_normal(64).astype("float16")
    (wanted,) = plain_session(tmp_path / "m.onnx").run(None, {"x": x})
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "m.onnx", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), wanted)
    convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "m.py")  # PyTorch rounds three times: within the bound of that


WIDE = {
    "fmod": lambda x, y: torch.fmod(x, 0.3),
    "fmod by numbers": torch.fmod,
    "remainder": lambda x, y: x.remainder(-0.3),
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "xlogy": lambda x, y: torch.xlogy(x, y.abs()),
}


@pytest.mark.parametrize("name", WIDE)
def test_float64_toward_keras_keeps_the_digits_of_numbers(name, tmp_path):
    import keras

    torch.manual_seed(4)
    numbers = torch.randn(4, 1, dtype=torch.float64)

    class Net(nn.Module):
        def forward(self, x):
            return WIDE[name](x, numbers)

    x = torch.randn(2, 4, 7, dtype=torch.float64)
    torch.export.save(torch.export.export(Net(), (x,)), tmp_path / "net.pt2")
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.keras", "--interface", "source")
    got = np.asarray(keras.saving.load_model(tmp_path / "port.keras", compile=False)(x.numpy()))
    assert got.dtype == np.float64
    assert np.abs(got - WIDE[name](x, numbers).numpy()).max() <= 2.0**-46
