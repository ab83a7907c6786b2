"""quantised_models.py FOLDER: networks that ONNX Runtime's static quantiser rounded to steps of 8 bits, a folder each with `model.onnx`
and the `float.onnx` it was made of: a corpus for tests/oracle/mutate.py and test_quantised_faults.py."""
import sys
from pathlib import Path

import numpy as np
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from torch import nn
from torch.nn import functional as F

SHAPE = (2, 3, 13, 18)


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 12, (3, 1), stride=2), nn.Conv2d(12, 7, 1)

    def forward(self, x):
        return self.c(F.relu(self.b(F.leaky_relu(self.a(x), 0.1))))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.depth = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1, groups=6)
        self.point, self.dense = nn.Conv2d(6, 6, 1), nn.Linear(6, 7)

    def forward(self, x):
        x = F.relu6(self.first(x))
        x = F.max_pool2d(x + self.point(F.relu(self.depth(x))), 2)
        return self.dense(x.mean((2, 3)))


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 6, 5, padding=2, bias=False)
        self.last = nn.ConvTranspose2d(10, 3, 3, stride=2, padding=1)

    def forward(self, x):
        return torch.sigmoid(self.last(torch.cat([self.left(x), F.hardswish(self.right(x))], 1)))


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(18, 20), nn.Linear(20, 16), nn.Linear(16, 5)

    def forward(self, x):
        return F.softmax(self.c(torch.tanh(self.b(F.relu(self.a(x))))), -1)


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm, self.c = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.Linear(8 * 2 * 3, 9)

    def forward(self, x):
        x = F.avg_pool2d(F.relu(self.norm(self.b(F.max_pool2d(F.relu(self.a(x)), 2, padding=1)))), (2, 2))
        return self.c(x.flatten(1))


class Upward(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 5, 3, stride=2, padding=1), nn.Conv2d(5, 9, 3, padding=1), nn.Conv2d(14, 2, 1)

    def forward(self, x):
        x = F.relu(self.a(x))
        y = F.interpolate(F.relu(self.b(x)), scale_factor=2, mode="nearest")
        return self.c(torch.cat([F.interpolate(x, scale_factor=2, mode="nearest"), y], 1))


NETS = {"chain": Chain, "residual": Residual, "joined": Joined, "dense": Dense, "pooled": Pooled, "upward": Upward}
KINDS = {"u8": (QuantType.QUInt8, QuantType.QInt8), "s8": (QuantType.QInt8, QuantType.QInt8),
         "u8u8": (QuantType.QUInt8, QuantType.QUInt8)}


class Numbers(CalibrationDataReader):
    def __init__(self, count=4):
        random = np.random.default_rng(3)
        self.arrays = iter([random.standard_normal(SHAPE).astype("f4") for _ in range(count)])

    def get_next(self):
        x = next(self.arrays, None)
        return None if x is None else {"x": x}


def float_model(name, folder):
    torch.manual_seed(5)
    net = NETS[name]().eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.5, 0.5), module.running_var.uniform_(0.5, 2)
    torch.onnx.export(net, (torch.randn(*SHAPE),), folder / "float.onnx", input_names=["x"], output_names=["y"],
                      opset_version=17, dynamo=False)
    return net, folder / "float.onnx"


def quantised_model(name, kind, per_channel, folder):
    folder.mkdir(parents=True, exist_ok=True)
    _, source = float_model(name, folder)
    activations, weights = KINDS[kind]
    quantize_static(source, folder / "model.onnx", Numbers(), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                    activation_type=activations, weight_type=weights)
    return folder / "model.onnx"


def main(folder):
    for name in NETS:
        for kind in KINDS:
            for per_channel in (False, True):
                quantised_model(name, kind, per_channel, Path(folder) / f"{name}_{kind}_{'channels' if per_channel else 'tensor'}")


if __name__ == "__main__":
    main(sys.argv[1])
