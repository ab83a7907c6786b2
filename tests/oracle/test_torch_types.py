"""Which element type comes of two: PyTorch asks a tensor with axes before one without, and both before a Python number. Asked of
programs, traced code and scripted code, and of their ports in the real targets."""

import importlib.util

import numpy as np
import onnxruntime
import pytest
import torch
from carrying import convoy, plain_session
from torch import nn


class Meeting(nn.Module):
    def forward(self, whole, real, short):
        return (
            whole * 1.5,
            whole + 0.5,
            real * 2.5,
            short * 100000,  # wraps around
            short + 7,
            whole - 3,
            whole / 2,
            whole**2.0,
            real + whole,
            short + whole,
            torch.tensor(2.5) * whole,
            torch.tensor(2.5, dtype=torch.float64) * whole,
            torch.tensor(2.5, dtype=torch.float64) * real,
            torch.tensor(3) * short,
            whole.sum() * real,
            real.sum().double() * real,
            short * whole.sum(),
            torch.where(whole > 1, 1.5, 2.5),
            torch.maximum(real, real.double().mean()),
            torch.cat([whole, short], 1),
            torch.tile(real, (2,)),
        )


INPUTS = (
    torch.arange(6).reshape(2, 3),
    torch.tensor([[0.5, -1.25, 2.0], [3.5, 0.25, -2.0]]),
    torch.arange(6, dtype=torch.int32).reshape(2, 3) * 70000,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    torch.export.save(torch.export.export(Meeting(), INPUTS), folder / "exported.pt2")
    torch.jit.trace(Meeting(), INPUTS).save(folder / "traced.pt")
    return folder


@pytest.mark.parametrize("target", ["py", "onnx"])
@pytest.mark.parametrize("file", ["exported.pt2", "traced.pt"])
def test_types_meet_as_in_pytorch(file, target, files, tmp_path):
    port = tmp_path / f"port.{target}"
    convoy("port", files / file, "-o", port)
    if target == "py":
        spec = importlib.util.spec_from_file_location("port", port)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        got = [y.numpy() for y in module.load()(*INPUTS)]
    else:
        session = plain_session(port)
        got = session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), INPUTS)})
    want = [y.numpy() for y in Meeting()(*INPUTS)]
    assert [y.dtype for y in got] == [y.dtype for y in want]
    for i, (one, other) in enumerate(zip(got, want)):
        np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=f"output {i}")


# Truths and whole numbers that stay what they are: a mask that became numbers would be added where it is to choose.
KEPT = [
    "b.tril()", "b.triu(1)", "b.masked_fill(a > 1, False)", "torch.where(b, b, False)", "torch.where(b, True, b)", "torch.where(b, 1, 0)",
    "torch.ones(3, 3, dtype=torch.bool).tril() & b", "w.tril()", "w.masked_fill(b, -1)",
    "w.to(torch.uint8).masked_fill(b, 7)", "b.masked_fill(b, True) ^ (a > 1)",
    "F.scaled_dot_product_attention(a[None], a[None], a[None], attn_mask=torch.ones(3, 3, dtype=torch.bool).tril())",
    "F.scaled_dot_product_attention(a[None], a[None], a[None], attn_mask=b.triu() | torch.eye(3, dtype=torch.bool))",
]  # fmt: skip


@pytest.mark.parametrize("expression", KEPT)
def test_truths_stay_truths(expression, tmp_path):
    source = tmp_path / "net.py"
    source.write_text("import torch\nimport torch.nn.functional as F\n\n\nclass Net(torch.nn.Module):\n    def forward(self, a):\n"
                      f"        b, w = a > 0.1, (a * 3).int()\n        return {expression}\n\n\nmodel = Net()\n")
    spec = importlib.util.spec_from_file_location("net", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    a = torch.linspace(-1, 2, 9).reshape(3, 3) * torch.tensor([1.0, -1.0, 1.0])
    wanted = module.model(a).numpy()
    np.save(tmp_path / "a.npy", a.numpy())
    program = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(module.model, (a,)), program)
    for one, shape in ((source, ["--shape", "3,3"]), (program, [])):
        convoy("run", one, *shape, "--input", tmp_path / "a.npy", "-o", tmp_path / "y.npy", "-f")
        np.testing.assert_allclose(np.load(tmp_path / "y.npy").astype(np.float64), wanted.astype(np.float64), atol=1e-5)
        convoy("port", one, *shape, "-o", tmp_path / "port.onnx", "-f")
        session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"), providers=["CPUExecutionProvider"])
        got = session.run(None, {session.get_inputs()[0].name: a.numpy()})[0]
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), atol=1e-5)
