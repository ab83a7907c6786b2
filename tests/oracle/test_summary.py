"""Multiply-adds, parameters and shapes that `convoy summary` tells, against PyTorch's own counter: a multiply-add is two
of its floating point operations. Unlike sizes on every axis."""

import json

import pytest
import torch
from carrying import convoy
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

torch.manual_seed(0)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, (3, 5), stride=(2, 1), padding=(1, 2), bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.mix = nn.Conv2d(8, 12, 3, groups=4, dilation=2)
        self.up = nn.ConvTranspose2d(12, 6, (4, 3), stride=(3, 2), groups=2, padding=1)
        self.out = nn.Linear(6, 7)

    def forward(self, x):
        x = self.up(torch.tanh(self.mix(self.down(x))))
        return self.out(x.mean((2, 3)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(10, 6), nn.Linear(10, 6), nn.Linear(10, 9)

    def forward(self, x):
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2), -1)
        return weights @ self.v(x)


CASES = {
    "convolutions": (Tied(), (1, 3, 19, 14)),
    "depthwise": (nn.Sequential(nn.Conv2d(6, 12, (2, 3), groups=6), nn.Conv2d(12, 5, 1)), (2, 6, 9, 11)),
    "one_axis": (nn.Sequential(nn.Conv1d(4, 7, 5, stride=3, padding=2), nn.ConvTranspose1d(7, 3, 4, stride=2)), (3, 4, 23)),
    "three_axes": (nn.Conv3d(2, 5, (1, 2, 3), stride=(1, 2, 1)), (2, 2, 4, 7, 9)),
    "attention": (Attention(), (2, 13, 10)),
}


@pytest.mark.parametrize("name", CASES)
def test_multiply_adds_are_those_that_pytorch_counts(name, tmp_path):
    model, shape = CASES[name]
    model = model.eval()
    x = torch.randn(shape)
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        wanted = model(x)
    file = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(model, (x,)), file)
    told = json.loads(convoy("summary", file, "--json").stdout)
    assert told["multiply_adds"] * 2 == counter.get_total_flops()
    assert told["parameters"]["trainable"] == sum(p.numel() for p in model.parameters())
    assert told["parameters"]["all"] >= told["parameters"]["trainable"]
    assert told["outputs"][0]["shape"] == list(wanted.shape)
    assert sum(layer["multiply_adds"] for layer in told["layers"]) == told["multiply_adds"]


def test_multiply_adds_of_modules_are_those_of_their_layers(tmp_path):
    model, shape = CASES["convolutions"]
    model = model.eval()
    x = torch.randn(shape)
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model(x)
    file = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(model, (x,)), file)
    told = json.loads(convoy("summary", file, "--json", "--depth", 1).stdout)
    rows = {}
    for layer in told["layers"]:
        rows[layer["path"]] = rows.get(layer["path"], 0) + layer["multiply_adds"]
    for module in ("down", "mix", "up", "out"):
        flops = counter.get_flop_counts()
        assert rows[module] * 2 == sum(flops["Tied." + module].values())
