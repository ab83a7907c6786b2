"""Networks that nobody chose: operators drawn at random, each put behind any value that it fits, sizes unlike on every axis.

A network is a list of steps; a step is a function and the numbers of the values that it reads, 0 being the input. What PyTorch does not
take, or what leaves the numbers that float32 holds well, is drawn again. Nothing jumps: where two values are equal but for rounding,
frameworks may take either side.
"""
import random

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

SHAPES = [(4, 9, 8), (3, 7, 10), (6, 8, 6), (5, 11), (8, 12), (6, 9)]
LARGEST, MOST = 1e3, 20_000


class Drawn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        self.steps, self.results = [], []

    def forward(self, x):
        values = [x]
        for function, read in self.steps:
            values.append(function(*(values[i] for i in read)))
        answers = tuple(values[i] for i in self.results)
        return answers[0] if len(answers) == 1 else answers


def settled(norm):
    """With the statistics of some training behind it."""
    for values in (norm.running_mean, norm.weight.data, norm.bias.data):
        values.normal_()
    norm.running_var.uniform_(0.5, 2)
    return norm


def of_images(r, c, h, w):
    yield lambda: nn.Conv2d(c, r.choice([3, 4, 6]), r.choice([1, 2, 3, (3, 1), (2, 4)]), r.choice([1, 2, (2, 1)]), r.choice([0, 1, (1, 0)]),
                            r.choice([1, 1, 2]), padding_mode=r.choice(["zeros", "zeros", "reflect", "circular", "replicate"]))
    yield lambda: nn.Conv2d(c, 5, r.choice([2, 3, 4, (5, 2)]), 1, "same", r.choice([1, 2]))
    groups = r.choice([i for i in range(1, c + 1) if c % i == 0])
    yield lambda: nn.Conv2d(c, groups * 2, 3, r.choice([1, 2]), 1, groups=groups)
    yield lambda: nn.ConvTranspose2d(c, 4, r.choice([2, 3, 4]), 2, r.choice([0, 1]), r.choice([0, 1]), dilation=r.choice([1, 1, 2]))
    yield lambda: nn.ConvTranspose2d(c, c * 2, 3, 2, 1, 1, groups=c)
    yield lambda: settled(nn.BatchNorm2d(c))
    yield lambda: nn.GroupNorm(groups, c)
    yield lambda: nn.InstanceNorm2d(c, affine=True)
    yield lambda: nn.MaxPool2d(r.choice([2, 3]), r.choice([1, 2]), r.choice([0, 1]), r.choice([1, 1, 2]), ceil_mode=r.random() < 0.4)
    yield lambda: nn.AvgPool2d(r.choice([2, 3]), r.choice([1, 2]), r.choice([0, 1]), r.random() < 0.4, r.random() < 0.5)
    yield lambda: nn.AdaptiveAvgPool2d(r.choice([1, 2, (3, 2), (None, 2)]))
    yield lambda: nn.Upsample(scale_factor=r.choice([2, (2, 3), 1.5]), mode=r.choice(["nearest", "bilinear", "bicubic", "nearest-exact"]))
    yield lambda: nn.Upsample(size=(r.choice([5, 9]), r.choice([4, 7])), mode="bilinear", align_corners=True)
    yield lambda: nn.PixelShuffle(2)
    yield lambda: nn.PixelUnshuffle(2)
    yield lambda: nn.LocalResponseNorm(3)
    yield lambda: nn.PReLU(c)
    pads, mode = r.choice([((1, 2, 0, 1), "constant"), ((1, 1, 1, 0), "reflect"), ((0, 2, 1, 1), "replicate"), ((-1, 0, 1, -1), "constant")])
    over, order = r.choice([(2, 3), 1, -1, (1, 2)]), r.choice([(0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2)])
    yield lambda: lambda x: F.pad(x, pads, mode)
    yield lambda: lambda x: x.mean(over)
    yield lambda: lambda x: x.permute(order)
    yield lambda: lambda x: x.flatten(2).transpose(1, 2)
    yield lambda: lambda x: x * torch.sigmoid(x.mean((2, 3), keepdim=True))
    yield lambda: lambda x: F.unfold(x, (2, 3), padding=1, stride=2)
    yield lambda: lambda x: torch.roll(x, (1, -2), (2, 3))
    yield lambda: lambda x: x[:, :, ::2, 1:]
    yield lambda: lambda x: F.normalize(x, dim=1)


def of_series(r, c, length):
    yield lambda: nn.Conv1d(c, 4, r.choice([1, 2, 3, 5]), r.choice([1, 2]), r.choice([0, 1, 2]), r.choice([1, 2]))
    yield lambda: nn.ConvTranspose1d(c, 4, r.choice([2, 3, 4]), r.choice([1, 2, 3]), r.choice([0, 1]))
    yield lambda: settled(nn.BatchNorm1d(c))
    yield lambda: nn.LayerNorm(length)
    yield lambda: nn.LayerNorm([c, length])
    yield lambda: nn.Linear(length, 5)
    yield lambda: nn.MaxPool1d(2, r.choice([1, 2]), ceil_mode=r.random() < 0.5)
    yield lambda: nn.AvgPool1d(3, 2, 1, count_include_pad=r.random() < 0.5)
    yield lambda: nn.Upsample(scale_factor=2, mode=r.choice(["nearest", "linear"]))
    yield lambda: lambda x: x.transpose(1, 2)
    yield lambda: lambda x: x.unsqueeze(1)
    yield lambda: lambda x: x @ x.transpose(1, 2)
    yield lambda: lambda x: F.scaled_dot_product_attention(x, x, x)
    yield lambda: lambda x: x.softmax(1)
    yield lambda: lambda x: x.cumsum(1)
    yield lambda: lambda x: F.pad(x, (1, 1), "reflect")
    yield lambda: lambda x: torch.einsum("bij,bkj->bik", x, x.tanh())


def of_rows(r, c):
    yield lambda: nn.Linear(c, 6)
    yield lambda: settled(nn.BatchNorm1d(c))
    yield lambda: nn.LayerNorm(c)
    yield lambda: lambda x: x.reshape(x.shape[0], 2, -1)
    yield lambda: lambda x: F.log_softmax(x, 1)
    yield lambda: lambda x: x[:, :, None] * x[:, None, :]


def of_numbers(r):
    for function in r.sample([F.relu, F.gelu, F.silu, F.hardswish, F.elu, F.softplus, F.mish, torch.tanh, F.relu6, F.hardsigmoid, F.selu, torch.abs,
                              F.softsign, lambda x: F.leaky_relu(x, 0.2), lambda x: x.clamp(-1, 0.7), lambda x: torch.where(x > 0, x, x * 0.1)], 4):
        yield lambda function=function: function


def of_one(r, x):
    families = {4: of_images, 3: of_series, 2: of_rows}
    return r.choice([*families[x.dim()](r, *x.shape[1:]), *of_numbers(r)])()


def of_two(r, a, b):
    """What takes both, or nothing."""
    fit = []
    if a.shape == b.shape:
        fit += [torch.add, torch.mul, torch.maximum, lambda x, y: torch.cat([x, y], 1), lambda x, y: torch.cat([y, x], -1)]
    if a.dim() == b.dim() == 3 and a.shape[-1] == b.shape[-1]:
        fit += [lambda x, y: x @ y.transpose(1, 2), lambda x, y: F.scaled_dot_product_attention(x, y, y)]
    if a.dim() == b.dim() == 3 and a.shape[-1] == b.shape[1]:
        fit.append(torch.matmul)
    if a.dim() == b.dim() == 4:
        fit.append(lambda x, y: F.interpolate(x, size=y.shape[2:], mode="bilinear"))
        if a.shape[1] == b.shape[1]:
            fit.append(lambda x, y: x * torch.sigmoid(y.mean((2, 3), keepdim=True)))
        if a.shape[2:] == b.shape[2:]:
            fit.append(lambda x, y: torch.cat([x, y], 1))
    if a.dim() == 4 and b.dim() == 2 and a.shape[1] == b.shape[1]:
        fit.append(lambda x, y: x * y[:, :, None, None])
    return r.choice(fit) if fit else None


def is_taken(y):
    return y.dtype == torch.float32 and 2 <= y.dim() <= 4 and y.shape[0] == 2 and 0 < y.numel() < MOST and bool((y.abs() < LARGEST).all())


def drawn(seed):
    """A network and an input for it."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    net, x = Drawn(), torch.randn(2, *r.choice(SHAPES))
    values, length = [x], r.randint(4, 9)
    for _ in range(80):
        if len(net.steps) == length:
            break
        read = [len(values) - 1 if r.random() < 0.6 else r.randrange(len(values))]
        if len(values) > 1 and r.random() < 0.45:
            read = r.sample(range(len(values)), 2)
        taken = [values[i] for i in read]
        try:
            function = of_two(r, *taken) if len(read) == 2 else of_one(r, *taken)
            with torch.no_grad():
                y = function.eval()(*taken) if isinstance(function, nn.Module) else function(*taken) if function else None
        except (RuntimeError, ValueError, IndexError, TypeError):
            continue
        if y is None or not is_taken(y):
            continue
        if isinstance(function, nn.Module):
            net.layers.append(function)
        net.steps.append((function, read))
        values.append(y)
    read = {i for _, some in net.steps for i in some}
    net.results = [i for i in range(1, len(values)) if i not in read][-3:]
    return net.eval(), x
