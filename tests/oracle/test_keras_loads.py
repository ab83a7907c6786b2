"""Ports to Keras whose layers build on the shapes that Keras itself infers, and are called without a word on training."""
import keras
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from carrying import assert_close, convoy
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.behind = nn.Conv2d(3, 8, 3), nn.Conv2d(4, 5, 1)

    def forward(self, x):
        return self.behind(F.glu(self.first(x), 1))


class Resized(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.norm.running_mean += 2
        self.norm.running_var *= 3

    def forward(self, x):
        y = F.interpolate(x, size=(9, 11), mode="bilinear")
        return F.dropout(self.norm(self.conv(y)), 0.5, self.training)


@pytest.mark.parametrize("network", [Gated, Resized])
def test_answers_when_it_is_called(network, tmp_path):
    torch.manual_seed(2)
    net, x = network().eval(), torch.arange(2 * 3 * 6 * 7.0).remainder(11).reshape(2, 3, 6, 7) / 4
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "m.pt2")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.keras")
    port = keras.models.load_model(tmp_path / "m.keras")
    before = [w.numpy().copy() for w in port.non_trainable_weights]
    got = np.asarray(port(x.numpy().transpose(0, 2, 3, 1))).transpose(0, 3, 1, 2)
    assert_close([got], [net(x).detach().numpy()])
    assert all(np.array_equal(a, w.numpy()) for a, w in zip(before, port.non_trainable_weights))


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_a_file_means_the_same_under_other_settings(ending, tmp_path):
    """Order of axes and type stand in the file: whoever loads it may have set others for what has none."""
    source = tmp_path / "net.py"
    source.write_text("""import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Conv2d(3, 5, 3, padding=1), nn.BatchNorm2d(5), nn.Linear(5, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 3, 2)
        x = F.interpolate(x, scale_factor=2.0, mode="bilinear")
        return F.softmax(self.last(x.mean((2, 3))), 1)
""")
    convoy("port", f"{source}:Net", "--shape", "x=2,3,9,11", "-o", tmp_path / f"port{ending}")
    x = np.random.default_rng(0).standard_normal((2, 9, 11, 3)).astype("float32")
    wanted = np.asarray(keras.models.load_model(tmp_path / f"port{ending}")(x))
    policy, order = keras.config.dtype_policy(), keras.config.image_data_format()
    keras.config.set_dtype_policy("mixed_bfloat16")
    keras.config.set_image_data_format("channels_first")
    try:
        answer = np.asarray(keras.models.load_model(tmp_path / f"port{ending}")(x))
    finally:
        keras.config.set_dtype_policy(policy)
        keras.config.set_image_data_format(order)
    assert answer.dtype == wanted.dtype
    np.testing.assert_array_equal(answer, wanted)
