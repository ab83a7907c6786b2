"""Small things that files of strangers do: what the frameworks answer where they run the file."""
import runpy

import numpy as np
from carrying import assert_close, run_natively

PADS = """import torch, torch.nn as nn, torch.nn.functional as F
letters = list("0123456789")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.last = nn.Conv2d(3, 4, 3, 2), nn.Conv2d(7, letters.__len__(), 1)

    def forward(self, x):
        y = F.interpolate(self.down(x), scale_factor=2)
        diffY = torch.tensor([x.size()[2] - y.size()[2]])
        diffX = torch.tensor([x.size()[3] - y.size()[3]])
        y = F.pad(y, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.last(torch.cat([x, y], dim=1))
"""

INITIALISERS = """import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Input((7, 5, 2)),
                             tf.keras.layers.Conv2D(3, 3, kernel_initializer=tf.initializers.glorot_uniform())])
"""


def test_pads_and_lengths_as_tensors_of_one_number(tmp_path):
    import torch

    (tmp_path / "net.py").write_text(PADS)
    torch.manual_seed(0)
    net = runpy.run_path(str(tmp_path / "net.py"))["Net"]().eval()
    x = np.random.default_rng(1).normal(size=(2, 3, 11, 13)).astype("float32")
    got = run_natively([tmp_path / "net.py"], {"x": x}, tmp_path, "--seed", "0", "--shape", "x=2,3,11,13")
    assert_close(got, [net(torch.from_numpy(x)).detach().numpy()])


def test_initialisers_by_tensorflows_name(tmp_path):
    (tmp_path / "net.py").write_text(INITIALISERS)
    x = np.random.default_rng(1).normal(size=(2, 7, 5, 2)).astype("float32")
    got = run_natively([tmp_path / "net.py"], {"x": x}, tmp_path, "--seed", "3")
    assert got[0].shape == (2, 5, 3, 3)
