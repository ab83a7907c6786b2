"""What a framework computes by one operator of 16 bits, in float32 and rounded once, where a port says it in several steps: squares of
300 are beyond float16, and sums of a pool are."""

import keras
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from carrying import convoy
from onnx import TensorProto, helper
from torch.nn import functional as F

LARGE = np.linspace(200, 400, 2 * 4 * 6 * 6).reshape(2, 4, 6, 6).astype("float16")


def ported(source, target, tmp_path):
    out = tmp_path / f"port.{target}"
    assert convoy("port", source, "--to", target, "-o", out, "--interface", "source").returncode == 0
    return out


def answer(path, x):
    if path.suffix == ".keras":
        return np.asarray(keras.saving.load_model(path, compile=False)(x))
    session = onnxruntime.InferenceSession(path)
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def exported(function, x, tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            return function(x)

    torch.export.save(torch.export.export(Net(), (x,)), tmp_path / "net.pt2")
    return tmp_path / "net.pt2"


NODES = {
    "ReduceL2": {"axes": [1], "keepdims": 1},
    "ReduceLogSumExp": {"axes": [2, 3], "keepdims": 0},
    "GlobalLpPool": {"p": 2},
    "LpNormalization": {"axis": 1, "p": 2},
    "MeanVarianceNormalization": {"axes": [0, 2, 3]},
}


@pytest.mark.parametrize("operator", NODES)
@pytest.mark.parametrize("target", ["keras", "onnx", "pt2"])
def test_an_operator_of_onnx_rounds_once(operator, target, tmp_path):
    node = helper.make_node(operator, ["x"], ["y"], **NODES[operator])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT16, s) for n, s in (("x", LARGE.shape), ("y", None)))
    model = helper.make_model(
        helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    onnx.save(model, tmp_path / "net.onnx")
    wanted = answer(tmp_path / "net.onnx", LARGE)
    assert np.isfinite(wanted).all()
    if target == "pt2":
        np.save(tmp_path / "x.npy", LARGE)
        assert convoy("run", tmp_path / "net.onnx", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy").returncode == 0
        got = np.load(tmp_path / "y.npy")
    else:
        got = answer(ported(tmp_path / "net.onnx", target, tmp_path), LARGE)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got.astype(float), wanted.astype(float), rtol=2**-10, atol=2**-10)


FUNCTIONS = {
    "norm": lambda x: x.norm(dim=1),
    "normalize": lambda x: F.normalize(x, dim=1),
    "normalize p=1": lambda x: F.normalize(x, p=1, dim=1),
    "cosine_similarity": lambda x: torch.cosine_similarity(x, x.flip(2), 1),
    "pairwise_distance": lambda x: F.pairwise_distance(x, -x),
    "logsumexp": lambda x: x.logsumexp(1),
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "resized": lambda x: F.interpolate(x, size=(11, 9), mode="bilinear", align_corners=True),
    "bicubic": lambda x: F.interpolate(x, size=(5, 13), mode="bicubic"),
    "pads left out": lambda x: F.avg_pool2d(x, 3, 2, 1, False, False),
    "rounded up": lambda x: F.avg_pool2d(x, 3, 2, 1, True, True),
    "divisor": lambda x: F.avg_pool2d(x, (2, 3), (2, 1), divisor_override=5),
    "adaptive average": lambda x: F.adaptive_avg_pool2d(x, (4, 5)),
    "adaptive maximum": lambda x: F.adaptive_max_pool2d(x, (4, 5)),
    "remainder": lambda x: x.remainder(0.3),
    "remainder below 0": lambda x: x.remainder(-0.3),
    "fmod": lambda x: torch.fmod(x, 0.3),
    "close to 0": lambda x: x / (x.norm(dim=1, keepdim=True) + 1e-12),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("target", ["keras", "onnx"])
def test_a_function_of_pytorch_rounds_as_it_does(name, dtype, target, tmp_path):
    if target == "onnx" and dtype == "bfloat16":
        pytest.skip("ONNX Runtime has hardly a kernel of bfloat16")
    x = torch.tensor(LARGE if "remainder" not in name and name != "fmod" else LARGE / 100 - 3).to(getattr(torch, dtype))
    wanted = FUNCTIONS[name](x)
    path = ported(exported(FUNCTIONS[name], x, tmp_path), target, tmp_path)
    if target == "keras":
        got = keras.saving.load_model(path, compile=False)(keras.ops.cast(x.float().numpy(), dtype))
        assert got.dtype == dtype
        got = np.asarray(keras.ops.cast(got, "float32"))
    else:
        got = answer(path, x.numpy())
        assert got.dtype == np.float16
    unit = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    wanted = wanted.float().numpy()
    np.testing.assert_allclose(got.astype("float32"), wanted, rtol=2 * unit, atol=2 * unit * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_norm_whose_parameters_are_wider_is_of_one_type_in_onnx(dtype, tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.groups = torch.nn.LayerNorm(6), torch.nn.GroupNorm(2, 4)

        def forward(self, x):
            return self.norm(x.to(dtype)).float(), self.groups(x.to(dtype)).float()

    torch.manual_seed(4)
    net, x = Net().eval(), torch.linspace(-3, 40, 48).reshape(2, 4, 6)
    for weight in net.parameters():
        torch.nn.init.uniform_(weight, 0.5, 2)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    path = ported(tmp_path / "net.pt2", "onnx", tmp_path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path)
    answers = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    for got, wanted in zip(answers, net(x), strict=True):
        np.testing.assert_allclose(got, wanted.detach().numpy(), rtol=2 ** (-6 if dtype == torch.bfloat16 else -9))
