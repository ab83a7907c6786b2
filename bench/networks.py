"""Makes networks of the kinds that the project's other bench has none of, as ONNX files with an input and a float64 reference.

    python bench/networks.py FOLDER [NAME ...]     a Python that has torch and onnx

Weights are random and seeded. `bench/against.py FOLDER` measures them.
"""
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def conv(i: int, o: int, k: int, stride: int = 1, dilation: int = 1, groups: int = 1, act: bool = True) -> nn.Sequential:
    layers = [nn.Conv2d(i, o, k, stride, dilation * (k // 2), dilation, groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([nn.ReLU()] if act else []))


class SuperResolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head, self.tail = nn.Conv2d(3, 64, 3, 1, 1), nn.Conv2d(64, 12, 3, 1, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(64, 64, 3, 1, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 1, 1)) for _ in range(8))

    def forward(self, x):
        y = head = self.head(x)
        for block in self.blocks:
            y = y + 0.1 * block(y)
        return F.pixel_shuffle(self.tail(y + head), 2)


class WaveNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 32, 1)
        self.gates = nn.ModuleList(nn.Conv1d(32, 64, 2, dilation=2**(i % 8)) for i in range(16))
        self.outs = nn.ModuleList(nn.Conv1d(32, 32, 1) for _ in range(16))
        self.skips = nn.ModuleList(nn.Conv1d(32, 128, 1) for _ in range(16))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(128, 128, 1), nn.ReLU(), nn.Conv1d(128, 64, 1))

    def forward(self, x):
        x, skips = self.first(x), 0
        for gate, out, skip in zip(self.gates, self.outs, self.skips):
            a, b = gate(F.pad(x, (gate.dilation[0], 0))).chunk(2, 1)
            y = torch.tanh(a) * torch.sigmoid(b)
            skips, x = skips + skip(y), x + out(y)
        return self.last(skips)


class ConvNextBlock(nn.Module):
    def __init__(self, c: int) -> None:
        super().__init__()
        self.depth, self.norm = nn.Conv2d(c, c, 7, 1, 3, groups=c), nn.LayerNorm(c, 1e-6)
        self.wide, self.narrow, self.scale = nn.Linear(c, 4 * c), nn.Linear(4 * c, c), nn.Parameter(torch.full((c,), .5))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.narrow(F.gelu(self.wide(y)))).permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths, depths = (48, 96, 192, 384), (2, 2, 4, 2)
        stages, before = [nn.Conv2d(3, 48, 4, 4)], 48
        for width, depth in zip(widths, depths):
            if width != before:
                stages += [nn.BatchNorm2d(before), nn.Conv2d(before, width, 2, 2)]
            stages += [ConvNextBlock(width) for _ in range(depth)]
            before = width
        self.body, self.head = nn.Sequential(*stages), nn.Linear(384, 1000)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


class ShuffleUnit(nn.Module):
    def __init__(self, i: int, o: int, stride: int) -> None:
        super().__init__()
        half = o // 2
        self.stride, into = stride, i if stride == 2 else half
        self.right = nn.Sequential(conv(into, half, 1), conv(half, half, 3, stride, groups=half, act=False), conv(half, half, 1))
        self.left = nn.Sequential(conv(i, i, 3, 2, groups=i, act=False), conv(i, half, 1)) if stride == 2 else None

    def forward(self, x):
        a, b = (self.left(x), self.right(x)) if self.left else (x.chunk(2, 1)[0], self.right(x.chunk(2, 1)[1]))
        y = torch.cat((a, b), 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def shuffle_net() -> nn.Module:
    layers, before = [conv(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1)], 24
    for width, depth in ((116, 4), (232, 8), (464, 4)):
        layers += [ShuffleUnit(before, width, 2)] + [ShuffleUnit(width, width, 1) for _ in range(depth - 1)]
        before = width
    return nn.Sequential(*layers, conv(464, 1024, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


class DenseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, channels, stages = nn.Sequential(conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)), 64, []
        for depth in (6, 12, 12):
            layers = nn.ModuleList()
            for _ in range(depth):
                layers.append(nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), conv(channels, 128, 1),
                                            nn.Conv2d(128, 32, 3, 1, 1, bias=False)))
                channels += 32
            stages.append(nn.ModuleList(
                (layers, nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1),
                                       nn.AvgPool2d(2)))))
            channels //= 2
        self.stages, self.head = nn.ModuleList(stages), nn.Linear(channels, 1000)

    def forward(self, x):
        x = self.stem(x)
        for layers, transition in self.stages:
            for layer in layers:
                x = torch.cat((x, layer(x)), 1)
            x = transition(x)
        return self.head(x.mean((2, 3)))


class DeepLab(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(3, 32, 3, 2), conv(32, 64, 3, 2), conv(64, 128, 3, 2), conv(128, 128, 3, 1, 2))
        self.rates = nn.ModuleList([conv(128, 64, 1)] + [conv(128, 64, 3, 1, rate) for rate in (6, 12, 18)])
        self.pooled, self.join, self.head = conv(128, 64, 1), conv(320, 64, 1), nn.Conv2d(64, 21, 1)

    def forward(self, x):
        y = self.body(x)
        pooled = self.pooled(y.mean((2, 3), keepdim=True)).expand(-1, -1, y.shape[2], y.shape[3])
        y = self.head(self.join(torch.cat([rate(y) for rate in self.rates] + [pooled], 1)))
        return F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=False)


def volumes() -> nn.Module:
    layers, before = [], 1
    for width in (16, 32, 64):
        for _ in range(2):
            layers += [nn.Conv3d(before, width, 3, 1, 1, bias=False), nn.BatchNorm3d(width), nn.ReLU()]
            before = width
        layers.append(nn.MaxPool3d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 10))


class Attention(nn.Module):
    def __init__(self, c: int, heads: int) -> None:
        super().__init__()
        self.heads, self.into, self.out = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.into(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = torch.softmax(q @ k.transpose(-2, -1) * (c // self.heads)**-0.5, -1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class VisionTransformer(nn.Module):
    def __init__(self, c: int = 192, depth: int = 6) -> None:
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, c, 16, 16), nn.Parameter(torch.randn(1, 196, c) * .02)
        self.blocks = nn.ModuleList(
            nn.ModuleList((nn.LayerNorm(c), Attention(c, 3), nn.LayerNorm(c),
                           nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c)))) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(c), nn.Linear(c, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        for first, attention, second, wide in self.blocks:
            x = x + attention(first(x))
            x = x + wide(second(x))
        return self.head(self.norm(x).mean(1))


class Cells(nn.Module):
    """Two layers that walk along time, and a class for each step."""

    def __init__(self, kind: type, features: int, units: int, ways: int) -> None:
        super().__init__()
        self.cells = kind(features, units, 2, batch_first=True, bidirectional=ways == 2)
        self.head = nn.Linear(units * ways, 40)

    def forward(self, x):
        return self.head(self.cells(x)[0])


NETWORKS = {
    "superresolution": (SuperResolution, (1, 3, 64, 64)),
    "wavenet": (WaveNet, (1, 1, 2048)),
    "convnext": (ConvNext, (1, 3, 224, 224)),
    "shufflenet": (shuffle_net, (1, 3, 224, 224)),
    "densenet": (DenseNet, (1, 3, 224, 224)),
    "deeplab": (DeepLab, (1, 3, 256, 256)),
    "volumes": (volumes, (1, 1, 32, 48, 40)),
    "vit": (VisionTransformer, (1, 3, 224, 224)),
    "lstm": (lambda: Cells(nn.LSTM, 80, 256, 2), (1, 200, 80)),
    "gru": (lambda: Cells(nn.GRU, 40, 128, 1), (1, 300, 40)),
}


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or NETWORKS:
        make, shape = NETWORKS[name]
        torch.manual_seed(7)
        model = make().eval()
        for module in model.modules():  # norms that do something
            if isinstance(module, (nn.BatchNorm2d, nn.BatchNorm3d)):
                module.running_mean.normal_(0, .1), module.running_var.uniform_(.8, 1.2)
        x = torch.randn(shape)
        with torch.inference_mode():
            reference = model.double()(x.double()).numpy()
        torch.onnx.export(model.float(), (x,), str(folder / f"{name}.onnx"), input_names=["x"], opset_version=17, dynamo=False)
        np.save(folder / f"{name}.x.npy", x.numpy())
        np.save(folder / f"{name}.ref.npy", reference)
        print(f"{name}: {sum(p.numel() for p in model.parameters()) / 1e6:.2f} M weights", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
