"""Infinity, NaN and the ends of narrow types: where PyTorch gives them an answer, a port gives the same, and `convoy diff` takes
no number for a fault that the type does not hold."""
import importlib.util

import numpy as np
import pytest
from carrying import convoy, plain_session, run_natively

TEXT = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def forward(self, x):
        {line}
"""
INF, NAN = float("inf"), float("nan")
SPECIAL = [[0.0, NAN, 1.0, 2.0, INF], [3.0, -INF, 1.0, -2.0, 0.5]]
LINES = {
    "clamp_from_below": "return x.clamp(min=-1.0)",
    "clamp_at_zero": "return x.clamp(min=0.0)",
    "clamp_from_above": "return x.clamp(max=0.3)",
    "clamp_both": "return x.clamp(-2.5, 0.3)",
    "relu": "return F.relu(x)",
    "relu6": "return F.relu6(x)",
    "hardtanh": "return F.hardtanh(x)",
    "threshold": "return F.threshold(x, 0.5, -3.0)",
    "bucketize": "return torch.bucketize(x, torch.tensor([0.0, 1.0]))",
    "bucketize_right": "return torch.bucketize(x, torch.tensor([0.0, 1.0]), right=True)",
    "searchsorted": "return torch.searchsorted(torch.tensor([0.0, 1.0]), x, right=True)",
    "quantile": "return x.quantile(0.3, dim=1), x.quantile(0.9, dim=1, keepdim=True)",
    "quantile_nearest": "return x.quantile(0.6, dim=1, interpolation='nearest'), x.quantile(0.5)",
}
NARROW = {
    "any": ("bool", "return x.any(1)"), "all": ("bool", "return x.all()"), "count": ("bool", "return x.sum(1)"),
    "turned": ("bool", "return ~x, x.float()"), "above": ("uint8", "return x > 128"), "masked": ("uint8", "return x.float(), x > 200"),
    "wraps": ("uint8", "return x + 10"), "from_255": ("uint8", "return 255 - x"), "product": ("int8", "return x * x"),
    "summed": ("uint8", "return x.sum(1)"), "int16": ("int16", "return x * 300 - x"),
}


def program(line: str, folder):
    file = folder / "net.py"
    file.write_text(TEXT.format(line=line))
    spec = importlib.util.spec_from_file_location("net", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return file, module.Net().eval()


@pytest.mark.parametrize("line", LINES)
def test_infinity_and_nan(line, tmp_path):
    import torch

    file, net = program(LINES[line], tmp_path)
    x = torch.tensor(SPECIAL)
    wanted = net(x) if isinstance(net(x), tuple) else (net(x),)
    source = [f"{file}:Net", "--shape", "2,5"]
    convoy("port", *source, "--to", "onnx", "-o", tmp_path / "p.onnx")
    session = plain_session(tmp_path / "p.onnx")
    for answers in (run_natively(source, {"x": x.numpy()}, tmp_path),
                    session.run(None, {session.get_inputs()[0].name: x.numpy()})):
        for answer, right in zip(answers, wanted, strict=True):
            np.testing.assert_allclose(answer, right.numpy(), rtol=1e-6)


@pytest.mark.parametrize("target", ["onnx", "torch"])
@pytest.mark.parametrize("name", NARROW)
def test_ports_of_narrow_types_are_the_same(name, target, tmp_path):
    import torch

    dtype, line = NARROW[name]
    _, net = program(line, tmp_path)
    x = torch.arange(10).reshape(2, 5).to(getattr(torch, dtype))
    exported = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net, (x,)), exported)
    written = tmp_path / ("p.onnx" if target == "onnx" else "p.py")
    convoy("port", exported, "--to", target, "-o", written)
    answer = convoy("diff", exported, written, code=None)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_a_mask_of_a_free_length_is_the_same(tmp_path):
    """What is made of sizes alone holds no other numbers than it does."""
    import torch

    line = ("m = torch.ones(x.shape[1], x.shape[1]).triu(1).bool(); "
            "return (x @ x.mT).masked_fill(m, float('-inf')).softmax(-1) @ x")
    _, net = program(line, tmp_path)
    exported, written = tmp_path / "net.pt2", tmp_path / "p.keras"
    sizes = {0: torch.export.Dim("b", min=1, max=16), 1: torch.export.Dim("l", min=3, max=64)}
    torch.export.save(torch.export.export(net, (torch.rand(2, 5, 4),), dynamic_shapes=(sizes,)), exported)
    convoy("port", exported, "--to", "keras", "-o", written)
    convoy("diff", exported, written)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_program_is_not_run_below_its_sizes(axis, tmp_path):
    """No window fails there, yet the program may have gone another way."""
    import torch

    line = "return x.cumsum(2) if x.shape[0] + x.shape[1] + x.shape[2] > 14 else x * 2"
    _, net = program(line, tmp_path)
    shape = [5, 6, 7]
    least = shape[axis] - 2
    sizes = {axis: torch.export.Dim("n", min=least, max=40)}
    torch.export.save(torch.export.export(net, (torch.rand(shape),), dynamic_shapes=(sizes,)), tmp_path / "net.pt2")
    for size in (least - 1, least, 40, 41):
        shape[axis] = size
        x = np.random.default_rng(0).random(shape, np.float32)
        np.save(tmp_path / "x.npy", x)
        answer = convoy("run", tmp_path / "net.pt2", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "-f", code=None)
        if size in (least, 40):
            assert answer.returncode == 0, answer.stderr
            np.testing.assert_allclose(np.load(tmp_path / "y.npy"), net(torch.from_numpy(x)).numpy(), rtol=1e-5)
        else:
            assert answer.returncode == 2 and f"x.shape[{axis}]" in answer.stderr, answer.stderr


def test_a_size_that_the_export_took_for_one_is_kept(tmp_path):
    """The program was specialised to one length of the middle, which several lengths of the input lead to."""
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.c, self.l = torch.nn.Conv1d(3, 4, 3, stride=2, padding=1), torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)

        def forward(self, x):
            y, _ = self.l(self.c(x).transpose(1, 2))
            return y.shape[1] * y[:, 0]

    auto = torch.export.Dim.AUTO
    program = torch.export.export(Net().eval(), (torch.rand(2, 3, 9),), dynamic_shapes=({0: auto, 2: auto},))
    torch.export.save(program, tmp_path / "net.pt2")
    for length in (9, 10, 19, 29):
        x = torch.rand(2, 3, length)
        np.save(tmp_path / "x.npy", x.numpy())
        try:
            wanted = program.module()(x).detach().numpy()
        except AssertionError:  # the program's own guard
            wanted = None
        answer = convoy("run", tmp_path / "net.pt2", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "-f", code=None)
        if wanted is None:
            assert answer.returncode == 2 and "goes another way" in answer.stderr, answer.stderr
        else:
            np.testing.assert_allclose(np.load(tmp_path / "y.npy"), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("line", ["return x.quantile(torch.tensor([.1, .9]), dim=1)", "return torch.where(x > 0)[0]",
                                  "return x.repeat_interleave(torch.tensor([1, 0, 2, 1, 1]), dim=1)"])
def test_a_tensor_where_a_number_is_read_is_refused(line, tmp_path):
    file, _ = program(line, tmp_path)
    answer = convoy("summary", f"{file}:Net", "--shape", "2,5", code=6)
    assert "missing" not in answer.stderr


@pytest.mark.parametrize("cut", ["x[:, x.shape[1] - 3:]", "x[:, :x.shape[1] - 3]", "x[:, x.shape[1] - 2]"])
def test_a_cut_counted_from_the_end_of_a_short_axis(cut, tmp_path):
    """An axis shorter than what is counted: the program refuses it, and so does what is read of it. A refusal of the cut will do."""
    import torch

    _, net = program(f"return {cut}", tmp_path)
    auto = torch.export.Dim.AUTO
    exported = torch.export.export(net, (torch.rand(2, 7, 3),), dynamic_shapes=({1: auto},))
    torch.export.save(exported, tmp_path / "net.pt2")
    if convoy("summary", tmp_path / "net.pt2", code=None).returncode == 6:
        return
    for length in (1, 2, 3, 5):
        x = torch.rand(2, length, 3)
        np.save(tmp_path / "x.npy", x.numpy())
        answer = convoy("run", tmp_path / "net.pt2", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "-f", code=None)
        if answer.returncode == 0:
            np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), net(x).numpy())


@pytest.mark.parametrize(("line", "least"), [("return x.unfold(1, 4, 2)", 4), ("a, b = x.chunk(2, 1); return a", 2)])
def test_source_is_not_run_where_it_fails(line, least, tmp_path):
    """At free sizes a program has some at which PyTorch raises: it is not answered there."""
    import torch

    file, net = program(line, tmp_path)
    for size in (1, least - 1, least, 6):
        x = torch.arange(2.0 * size).reshape(2, size)
        np.save(tmp_path / "x.npy", x.numpy())
        answer = convoy("run", f"{file}:Net", "--shape", "?,?", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "-f",
                        code=None)
        try:
            wanted = net(x)
        except (RuntimeError, ValueError):
            assert answer.returncode == 2 and "holds where" in answer.stderr, (size, answer.stderr)
            continue
        assert answer.returncode == 0, answer.stderr
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), wanted.numpy())
