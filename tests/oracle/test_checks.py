"""The check that a written module carries, and the names that a report says: outputs of one name, truths, other types."""

import json

import onnx
import pytest
import torch
from carrying import check_itself, convoy


class Twice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x):
        a = self.convolution(x)
        b = self.convolution(a)
        return b, a, b, x


class Truths(torch.nn.Module):
    def forward(self, x, mask, short):
        return torch.where(mask, x, 0.0), mask & (x > 0), ~mask, short * 70000, x > short


NETS = {
    "twice": (Twice(), (torch.rand(2, 3, 6, 5),)),
    "truths": (Truths(), (torch.randn(2, 7), torch.rand(2, 7) > 0.5, torch.arange(7, dtype=torch.int32))),
}


@pytest.mark.parametrize("target", ["torch", "keras"])
@pytest.mark.parametrize("name", NETS)
def test_a_right_port_agrees_with_itself(name, target, tmp_path):
    torch.export.save(torch.export.export(*NETS[name]), tmp_path / "net.pt2")
    convoy("port", tmp_path / "net.pt2", "--to", target, "-o", tmp_path / "port.py")
    check_itself(tmp_path / "port.py")


@pytest.mark.parametrize("target", ["torch", "keras"])
def test_states_have_names_of_their_own(target, tmp_path):
    import keras

    x = keras.Input((5, 3))
    outputs, *states = keras.layers.LSTM(2, return_sequences=True, return_state=True)(x)
    keras.Model(x, [outputs, *states, outputs]).save(tmp_path / "net.keras")
    convoy("port", tmp_path / "net.keras", "--to", target, "-o", tmp_path / "port.py")
    check_itself(tmp_path / "port.py")


@pytest.mark.parametrize("name", NETS)
def test_the_report_says_the_names_of_the_file(name, tmp_path):
    torch.export.save(torch.export.export(*NETS[name]), tmp_path / "net.pt2")
    said = json.loads(convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.onnx", "--json").stdout)
    model = onnx.load(tmp_path / "port.onnx")
    assert [one["name"] for one in said["outputs"]] == [one.name for one in model.graph.output]
    assert [one["name"] for one in said["inputs"]] == [one.name for one in model.graph.input]
    assert len({one["name"] for one in said["outputs"]}) == len(model.graph.output)
