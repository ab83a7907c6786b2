"""quantised_models.py FOLDER: networks that ONNX Runtime's static quantiser rounded to steps of 8 bits, a folder each with `model.onnx`
and the `float.onnx` it was made of: a corpus for tests/oracle/mutate.py and test_quantised_faults.py. `quantised` makes one in any
of the forms that the quantisers know, once."""
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from torch import nn
from torch.nn import functional as F

SHAPE = (2, 3, 13, 18)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Conv2d(8, 5, (1, 3))

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


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


def float_model(name, folder, nets=NETS):
    torch.manual_seed(5)
    net = nets[name]().eval()
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


# Carried in every form.
CARRIED = {"plain": Plain, "residual": Residual, "joined": Joined}
FORMS = {"qdq_u8": (QuantType.QUInt8, QuantFormat.QDQ, QuantType.QInt8), "qdq_s8": (QuantType.QInt8, QuantFormat.QDQ, QuantType.QInt8),
         "qdq_u8u8": (QuantType.QUInt8, QuantFormat.QDQ, QuantType.QUInt8), "qdq_s16": (QuantType.QInt16, QuantFormat.QDQ, QuantType.QInt8),
         "qoperator": (QuantType.QUInt8, QuantFormat.QOperator, QuantType.QUInt8)}
made_here = tempfile.TemporaryDirectory()


@cache
def carried_float(net):
    folder = Path(made_here.name) / net
    folder.mkdir()
    return float_model(net, folder, CARRIED)[1]


@cache
def made(net, form, per_channel):
    source, target = carried_float(net), Path(made_here.name) / f"{net}_{form}_{per_channel}.onnx"
    if form == "dynamic":
        quantize_dynamic(source, target, weight_type=QuantType.QUInt8)
    else:
        activations, operators, weights = FORMS[form]
        quantize_static(source, target, Numbers(), quant_format=operators, per_channel=per_channel,
                        activation_type=activations, weight_type=weights)
    return target


def quantised(net, folder, form, per_channel=False):
    """A file in the folder, and what to ask it."""
    return shutil.copy(made(net, form, per_channel), folder / "quantised.onnx"), next(Numbers().arrays)


def main(folder):
    for name in NETS:
        for kind in KINDS:
            for per_channel in (False, True):
                quantised_model(name, kind, per_channel, Path(folder) / f"{name}_{kind}_{'channels' if per_channel else 'tensor'}")


if __name__ == "__main__":
    main(sys.argv[1])
