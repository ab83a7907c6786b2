"""Comparisons, choices, places, running sums, gathers and grids: exported by torch, carried by convoy to PyTorch source and
to ONNX with a proof, and compared with torch in PyTorch and in ONNX Runtime."""
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from carrying import assert_close, convoy, port, run_natively
from test_onnx_written import session
from torch import nn

X = torch.tensor(np.random.default_rng(3).normal(size=(2, 3, 6, 5)) * 2, dtype=torch.float32)


def module(function):
    class Net(nn.Module):
        def forward(self, x):
            return function(x)

    return Net()


def mask(x):
    """Truth stays truth through a product and a sum."""
    return x * (x > 0.5) + torch.where((x < -1) | ~(x <= 2), x.abs(), x - 1)


def places(x):
    top, where = x.topk(3, dim=3)
    return top + where.float() + x.argmax(dim=1, keepdim=True)[..., :3] + x.argmin(dim=2, keepdim=True)[..., :3]


def gathered(x):
    order = x.argsort(dim=3, descending=True)
    return torch.gather(x, 3, order) - x.sort(dim=3)[0]


def grid(mode, border, corners):
    def run(x):
        n, _, h, w = x.shape
        theta = torch.tensor([[[0.8, 0.3, 0.2], [-0.4, 1.1, -0.3]]]).expand(n, 2, 3)
        places = F.affine_grid(theta, [n, 3, 4, 7], align_corners=corners)
        return F.grid_sample(x, places, mode=mode, padding_mode=border, align_corners=corners)

    return run


CASES = {
    "masks": mask,
    "places": places,
    "gather_sorted": gathered,
    "grid_bilinear": grid("bilinear", "zeros", False),
    "grid_reflection": grid("bilinear", "reflection", True),
    "grid_nearest_border": grid("nearest", "border", False),
    "grid_bicubic": grid("bicubic", "zeros", True),
    "cumsum": lambda x: x.cumsum(2) + x.flip(3).cumsum(3),
    "remainders": lambda x: torch.remainder(x, 0.75) + torch.fmod(x, -0.6) + torch.floor_divide(x, 0.5),
    "functions": lambda x: torch.tan(x / 4) + torch.atan(x) + torch.asinh(x) + torch.expm1(x / 3) + torch.trunc(x),
    "inverse_functions": lambda x: torch.acos(torch.tanh(x)) + torch.asin(torch.sin(x)) + torch.log1p(x.abs()),
    "masked_fill_softmax": lambda x: F.softmax(x.masked_fill(torch.ones(6, 5).tril() == 0, -1e9), dim=-1),
    "roll_repeat": lambda x: torch.cat([x.roll((1, -2), (2, 3)), x.repeat(1, 2, 1, 1)], 1),
    "deviation": lambda x: (x - x.mean((2, 3), keepdim=True)) / x.std((2, 3), keepdim=True) + x.logsumexp(1, keepdim=True),
    "picked_cells": lambda x: x[:, :, torch.tensor([4, 0, 2])[:, None], torch.tensor([1, 3])],
    "looked_up": lambda x: x.argmax(dim=1) + x[:, 0].to(torch.int64).clamp(0, 2),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("free", [False, True])
def test_there_and_back(name, free, tmp_path):
    net = module(CASES[name]).eval()
    if free and name.startswith("grid"):
        pytest.skip("a grid of a free batch is computed from its size")
    shapes = {"x": {0: torch.export.Dim("batch", min=2, max=64)}} if free else None
    torch.export.save(torch.export.export(net, (X,), dynamic_shapes=shapes), tmp_path / "model.pt2")
    want = [net(X).numpy()]
    assert_close(run_natively([tmp_path / "model.pt2"], {"x": X.numpy()}, tmp_path), want, 2e-5, name)
    ported = port([tmp_path / "model.pt2"], tmp_path / "net.py")
    assert_close(ported([X.numpy()]), want, 2e-5, f"{name} in PyTorch")
    convoy("port", tmp_path / "model.pt2", "-o", tmp_path / "net.onnx")
    assert_close(session(tmp_path / "net.onnx", False).run(None, {"x": X.numpy()}), want, 2e-4, f"{name} in ONNX Runtime")


class Recurrent(nn.Module):
    def __init__(self, kind, batch_first, layers, both):
        super().__init__()
        self.cells = kind(5, 4, layers, batch_first=batch_first, bidirectional=both)

    def forward(self, x):
        y, state = self.cells(x)
        return y, state[0] if isinstance(state, tuple) else state


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("layers, both", [(1, True), (3, False), (2, True)])
def test_recurrent_layers(kind, batch_first, layers, both, tmp_path):
    torch.manual_seed(5)
    net, x = Recurrent(kind, batch_first, layers, both).eval(), X[:, 0]
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "model.pt2")
    want = [y.detach().numpy() for y in net(x)]
    assert_close(run_natively([tmp_path / "model.pt2"], {"x": x.numpy()}, tmp_path), want, 2e-5, str(kind))
    ported = port([tmp_path / "model.pt2"], tmp_path / "net.py")
    assert_close(ported([x.numpy()]), want, 2e-5, f"{kind} in PyTorch")
