"""PyTorch programs as people paste them. Name: (shapes of the inputs, text). The last model that is bound is meant, else Net()."""

PROGRAMS = {
    "output_size": ({"x": (2, 3, 11, 14)}, r"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.downsample = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.pool = nn.MaxPool2d(2, stride=2, return_indices=False, ceil_mode=True)
        self.upsample = nn.ConvTranspose2d(8, 5, 3, stride=2, padding=1)
        self.up1 = nn.ConvTranspose2d(5, 3, 3, stride=2, padding=1)
    def forward(self, x):
        h = self.downsample(x)
        p = self.pool(h)
        u = self.upsample(p, output_size=h.size())
        return self.up1(u, output_size=x.shape[-2:])
"""),
    "getattr_layers": ({"x": (2, 3, 16, 18)}, r"""
class BaseNet(nn.Module):
    n_blocks = 3
    act = staticmethod(F.relu)
    def __init__(self, *, width: int = 4, **kw):
        super().__init__()
        self.width = width
        for i in range(self.n_blocks):
            setattr(self, f'conv{i}', nn.Conv2d(3 if i == 0 else width, width, kernel_size=3, padding=i, dilation=max(1, i)))
            self.__setattr__('bn%d' % i, nn.BatchNorm2d(width))
    def forward(self, x):
        outs = []
        for i in range(self.n_blocks):
            x = self.act(getattr(self, 'bn' + str(i))(getattr(self, f'conv{i}')(x)))
            outs.append(x.mean([-1, -2]))
        return torch.stack(outs, dim=-1).sum(-1)
class Net(BaseNet):
    def __init__(self):
        super(Net, self).__init__(width=5)
        self.head = nn.Linear(self.width, 2, bias=False)
    def forward(self, x):
        return self.head(super().forward(x))
"""),
    "moduledict_string": ({"x": (2, 5, 12)}, r"""
class Net(nn.Module):
    ACTIVATIONS = {'relu': nn.ReLU, 'tanh': nn.Tanh, 'elu': lambda: nn.ELU(alpha=0.5)}
    def __init__(self, spec=(('conv', 6, 3), ('act', 'elu'), ('pool', 2), ('conv', 4, 5), ('act', 'tanh'))):
        super().__init__()
        self.order = []
        self.layers = nn.ModuleDict()
        c = 5
        for i, (kind, *rest) in enumerate(spec):
            name = f"{i:02d}_{kind}"
            if kind == 'conv':
                out, k = rest
                self.layers[name] = nn.Conv1d(c, out, k, padding=(k - 1) // 2)
                c = out
            elif kind == 'act':
                self.layers[name] = self.ACTIVATIONS[rest[0]]()
            elif kind == 'pool':
                self.layers[name] = nn.MaxPool1d(*rest)
            self.order.append(name)
    def forward(self, x):
        for name in self.order:
            x = self.layers[name](x)
        return x
"""),
    "config_dataclass": ({"x": (2, 1, 40)}, r"""
import dataclasses
from dataclasses import dataclass, field
from typing import Sequence
@dataclass(frozen=True)
class Config:
    in_channels: int = 1
    channels: Sequence[int] = (4, 6)
    kernel_sizes: Sequence[int] = field(default_factory=lambda: (9, 5))
    strides: Sequence[int] = (3, 2)
    dropout: float = .1
    @property
    def n_layers(self) -> int:
        return len(self.channels)
    def __post_init__(self):
        assert len(self.channels) == len(self.kernel_sizes)
def get_conv_out(length, kernel, stride, padding=0):
    return (length + 2 * padding - kernel) // stride + 1
class Net(nn.Module):
    '''Audio net'''
    def __init__(self, cfg: Config = Config(), length: int = 40, classes: int = 3):
        super().__init__()
        self.cfg = cfg
        c = cfg.in_channels
        convs = nn.ModuleList()
        for out, k, s in zip(cfg.channels, cfg.kernel_sizes, cfg.strides):
            convs.append(nn.Sequential(nn.Conv1d(c, out, k, s), nn.BatchNorm1d(out), nn.PReLU(out), nn.Dropout(cfg.dropout)))
            length = get_conv_out(length, k, s)
            c = out
        self.convs = convs
        self.fc = nn.Linear(c * length, classes)
        self.reset_parameters()
    def reset_parameters(self):
        for name, p in self.named_parameters():
            if 'weight' in name and p.dim() > 1:
                nn.init.xavier_uniform_(p, gain=nn.init.calculate_gain('relu'))
            elif name.endswith('.bias'):
                nn.init.zeros_(p)
    def forward(self, x):
        for i, conv in enumerate(self.convs):
            x = conv(x)
        x = x.reshape(x.shape[0], -1)
        return self.fc(x)
def main():
    model = Net(dataclasses.replace(Config(), dropout=0.3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        pass
if __name__ == '__main__':
    main()
"""),
    "pad_comprehension": ({"x": (2, 3, 17, 14)}, r"""
class SameConv(nn.Module):
    def __init__(self, i, o, k, s=1, d=1):
        super().__init__()
        self.k = k if isinstance(k, tuple) else (k,) * 2
        self.s = s if isinstance(s, tuple) else (s,) * 2
        self.d = d if isinstance(d, tuple) else (d,) * 2
        self.conv = nn.Conv2d(i, o, self.k, self.s, dilation=self.d)
    def forward(self, x):
        size = x.shape[-2:]
        total = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, k, s, d in zip(size, self.k, self.s, self.d)]
        pads = [p for t in reversed(total) for p in (t // 2, t - t // 2)]
        return self.conv(F.pad(x, pads))
net = nn.Sequential(SameConv(3, 4, (4, 3), 2), SameConv(4, 5, 3, d=(1, 3)), SameConv(5, 2, 5, (3, 1)))
"""),
    "pad_mod_branch": ({"x": (2, 3, 17, 14)}, r"""
class SameConv2d(nn.Module):
    def __init__(self, cin, cout, kernel_size, stride=1):
        super().__init__()
        self.F, self.S = kernel_size, stride
        self.layer = nn.Conv2d(cin, cout, kernel_size, stride)
    def forward(self, x):
        H, W = x.shape[2], x.shape[3]
        if H % self.S == 0:
            ph = max(self.F - self.S, 0)
        else:
            ph = max(self.F - (H % self.S), 0)
        pw = max(self.F - self.S, 0) if W % self.S == 0 else max(self.F - W % self.S, 0)
        top, left = ph // 2, pw // 2
        return self.layer(F.pad(x, (left, pw - left, top, ph - top), "constant", 0))
net = nn.Sequential(SameConv2d(3, 4, 3, 2), SameConv2d(4, 2, 4, 3))
"""),
    "pad_divmod": ({"x": (2, 3, 17, 14)}, r"""
import math
class Same1(nn.Module):
    def __init__(self, i, o, kernel_size, stride, dilation=1):
        super().__init__()
        self.stride = stride; self.kernel_size = kernel_size; self.dilation = dilation
        self.conv = torch.nn.Conv2d(i, o, kernel_size, stride=stride, dilation=dilation, bias=False)
    def pads(self, n):
        out = math.ceil(float(n) / float(self.stride))
        need = max(0, (out - 1) * self.stride + self.dilation * (self.kernel_size - 1) + 1 - n)
        q, r = divmod(need, 2)
        return q, q + r
    def forward(self, x):
        *_, h, w = x.size()
        top, bottom = self.pads(h)
        left, right = self.pads(w)
        return self.conv(nn.functional.pad(x, (left, right, top, bottom)))
net = nn.Sequential(Same1(3, 4, 3, 2), nn.ReLU(), Same1(4, 2, 2, 3))
"""),
    "lstm_cells": ({"x": (2, 5, 4)}, r"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.LSTMCell(4, 6), nn.GRUCell(6, 3)
        self.c3 = nn.RNNCell(3, 2, nonlinearity='relu')
    def forward(self, x):
        h = torch.zeros(x.size(0), 6); c = torch.zeros_like(h)
        g = r = None
        outs = []
        for x_t in x.unbind(1):
            h, c = self.c1(x_t, (h, c))
            g = self.c2(h, g)
            r = self.c3(g) if r is None else self.c3(g, r)
            outs += [r]
        return torch.stack(outs, 1), c
"""),
    "metric_layers": ({"a": (3, 6), "b": (3, 6)}, r"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cos, self.pd, self.bl = nn.CosineSimilarity(dim=1), nn.PairwiseDistance(p=1), nn.Bilinear(6, 6, 4)
    def forward(self, a, b):
        n = F.normalize(a, p=2, dim=1)
        return self.cos(a, b), self.pd(a, b), self.bl(a, b), F.pairwise_distance(a, b, 2), torch.cdist(n, b), torch.norm(a - b, dim=1), torch.outer(a[0], b[1]), torch.lerp(a, b, 0.3)
"""),
    "misc_tensor": ({"x": (2, 3, 4, 5)}, r"""
class Net(nn.Module):
    def forward(self, x):
        a = x.movedim(1, -1)
        b = torch.hstack([x, x.flip(1)])
        c = x.mean((2, 3)).view(x.size(0), -1, 1, 1).expand_as(x)
        d = x.new_zeros(x.shape[0], 2).add(1).tile(1, 2)
        e = torch.var_mean(x, dim=[2, 3], keepdim=True, unbiased=False)
        f = x.masked_fill(x < 0, 0.).clamp_(max=1).sub_(c).div_(2)
        g = torch.where(x > 0, x, torch.zeros_like(x)) + torch.rot90(x, 2, [2, 3])
        h = x.reshape(2, -1).argsort(dim=1)
        i = torch.narrow(x, 3, 1, 2).contiguous().view_as(x[..., :2])
        j = x.repeat_interleave(2, dim=2)
        return a, b, c, d, e, f, g, h, i, j
"""),
    "padding_mode": ({"x": (1, 2, 9, 12)}, r"""
net = nn.Sequential(
    nn.Conv2d(2, 3, 3, padding=1, padding_mode='reflect'),
    nn.Conv2d(3, 4, (3, 5), padding=(1, 2), padding_mode='circular'),
    nn.Conv2d(4, 4, 3, stride=2, padding=1, padding_mode='replicate', groups=2),
    nn.ConstantPad2d((1, 0, 2, 1), 0.5), nn.LPPool2d(2, 2), nn.LocalResponseNorm(2), nn.Hardswish(), nn.Softmax2d())
"""),
    "up_sizes": ({"x": (1, 2, 9, 11)}, r"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(2, 4, 3, 2, 1)
        self.b = nn.Conv2d(4, 4, 3, 2, 1)
        self.up = nn.Upsample(scale_factor=(2, 3), mode='bicubic', align_corners=False)
        self.upn = nn.UpsamplingNearest2d(scale_factor=2)
        self.upb = nn.UpsamplingBilinear2d(size=(7, 8))
    def forward(self, x):
        h, w = x.shape[2], x.shape[3]
        a = self.a(x)
        b = self.b(a)
        u = F.interpolate(b, size=a.size()[2:], mode='bilinear', align_corners=True) + a
        v = F.interpolate(u, (h, w), mode='nearest')
        t = F.interpolate(v, scale_factor=0.5, mode='bilinear', align_corners=False, recompute_scale_factor=True)
        return v, self.up(b), self.upn(b), self.upb(b), t, F.adaptive_avg_pool2d(x, (3, 4))
"""),
    "squeeze_where": ({"x": (2, 4, 6, 5)}, r"""
class Net(nn.Module):
    '''Gated channel'''
    def __init__(self, channels: int = 4, *, k: int = 3) -> None:
        super().__init__()
        self.channels: int = channels
        self.eca = nn.Conv1d(1, 1, kernel_size=k, padding=(k - 1) // 2, bias=False)
        self.alpha: nn.Parameter = nn.Parameter(torch.full((1, channels, 1, 1), 0.3))
        self.act: "nn.Module" = nn.Hardsigmoid()
    @torch.no_grad()
    def count(self): return sum(map(lambda p: p.numel(), filter(lambda p: p.requires_grad, self.parameters())))
    def forward(self, x: torch.Tensor) -> "torch.Tensor":
        if (n := x.size(1)) != self.channels:
            raise ValueError(f"expected {self.channels} channels, got {n}")
        y = F.adaptive_avg_pool2d(x, 1)
        y = self.eca(y.squeeze(-1).transpose(-1, -2)).transpose(-1, -2).unsqueeze(-1)
        y = self.act(y)
        z = x * y.expand_as(x) + torch.maximum(x, self.alpha * x)
        return z if not self.training else z.detach()
"""),
    "zp_max5": ({"x": (1, 2, 9, 12)}, r"""
net = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ZeroPad2d((1, 2, 0, 1)), nn.MaxPool2d(5, 2, 1))
net[0].bias.data.fill_(-9)
"""),
    "zp_avg5": ({"x": (1, 2, 9, 12)}, r"""
net = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ZeroPad2d((1, 2, 0, 1)), nn.AvgPool2d(5, 2, 1))
net[0].bias.data.fill_(-9)
"""),
    "zp_avg5x": ({"x": (1, 2, 9, 12)}, r"""
net = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ZeroPad2d((1, 2, 0, 1)), nn.AvgPool2d(5, 2, 1, count_include_pad=False))
net[0].bias.data.fill_(-9)
"""),
    "zp_maxceil": ({"x": (1, 2, 9, 12)}, r"""
net = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ZeroPad2d((1, 2, 0, 1)), nn.MaxPool2d(3, 2, ceil_mode=True))
net[0].bias.data.fill_(-9)
"""),
    "growing_list": ({"x": (2, 4, 9, 7)}, r"""
class Grow(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.steps = nn.ModuleList(nn.Conv2d(4 + 2 * i, 2, 3, padding=1) for i in range(n))
    def forward(self, x):
        seen = [x]
        seen.extend(step(torch.cat(seen, 1)) for step in self.steps)
        last = list(x.chunk(2, 1))
        last += (F.relu(last[-1] + i) for i in range(2))
        return torch.cat(seen, 1), torch.cat(last, 1)
net = Grow()
"""),
    "partial_norm": ({"x": (2, 3, 10, 8)}, r"""
import functools
def stage(i, o, norm):
    makes_bias = norm.func is nn.InstanceNorm2d if type(norm) == functools.partial else norm is nn.InstanceNorm2d
    return [nn.Conv2d(i, o, 3, bias=makes_bias), norm(o), nn.ReLU(True)]
plain = functools.partial(nn.InstanceNorm2d, affine=False)
net = nn.Sequential(*stage(3, 4, plain), *stage(4, 5, nn.BatchNorm2d), *stage(5, 2, functools.partial(plain, eps=1e-3)))
assert callable(plain) and not plain.args and plain.keywords['affine'] is False
"""),
    "device_choice": ({"x": (2, 3, 6)}, r"""
has_gpu = torch.cuda.is_available() and torch.cuda.device_count() > 1
device = torch.device('cuda:1' if has_gpu else 'mps' if torch.backends.mps.is_available() else 'cpu')
model = nn.Sequential(nn.Conv1d(3, 4, 3), nn.ELU()).to(device)
if device.type == 'cuda' and has_gpu:
    model = nn.DataParallel(model)
class Net(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body
    def forward(self, x):
        zeros = torch.zeros(x.shape[0], 4, 1, device=x.device)
        return self.body(x) + (zeros if x.device.type == 'cpu' else zeros + 1)
net = Net(model)
"""),
    "scaled_start": ({"x": (2, 5)}, r"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(5, 6), nn.Linear(6, 3)
        self.out.weight.data.mul_(0.1)
        self.out.bias.data.div_(2).add_(1)
    def forward(self, x):
        return self.out(self.fc(x).sigmoid())
"""),
    "computed_kernels": ({"x": (2, 3, 7, 9), "s": (1, 3)}, r"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Parameter(torch.randn(3, 2, 3, 2))
        self.conv = nn.Conv2d(2, 4, 3, stride=2, padding=1)
        self.gate = nn.Linear(3, 3)
    def forward(self, x, s):
        kernel = self.up * self.gate(s).view(3, 1, 1, 1)
        y = F.conv_transpose2d(x, kernel, stride=(2, 3), padding=(1, 0), output_padding=(1, 2))
        w = self.conv.weight
        w = (w - w.mean(dim=(1, 2, 3), keepdim=True)) / (w.std(dim=(1, 2, 3), keepdim=True) + 1e-5)
        return F.conv2d(y, w * s.sum(), self.conv.bias * s.mean(), self.conv.stride, self.conv.padding)
"""),
    "fixed_filters": ({"x": (2, 3, 9, 8)}, r"""
import numpy as np
from types import SimpleNamespace
taps = np.array([1., 2., 1.])
smooth = taps[:, None] * taps[None, :]
edge = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], dtype=np.float32)
bank = np.stack([smooth / smooth.sum(), edge, edge.T, np.outer(taps, [1, -2, 1])])
class Fixed(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.options = options
        self.register_buffer('bank', torch.Tensor(bank)[:, None].repeat(options.channels, 1, 1, 1))
        self.__setattr__('mix', nn.Conv2d(4 * options.channels, 2, 1))
    def forward(self, x):
        x = F.pad(x, self.options.border, mode='reflect')
        return self.mix(F.conv2d(x, self.bank, groups=self.options.channels))
net = Fixed(SimpleNamespace(channels=3, border=[1] * 4))
"""),
    "unread_parameters": ({"x": (2, 4, 11)}, r"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(4, 4, 3, dilation=d, padding=d) for d in (1, 2))
        self.rest = nn.ModuleList(nn.Conv1d(4, 4, 1) for _ in range(2))
    def forward(self, x):
        total = 0
        for layer, rest in zip(self.layers, self.rest):
            y = layer(x)
            total, x = total + y, x + rest(y)
        return total
"""),
}

# Targets that have no word for some operator: what the refusal says.
NOT_CARRIED = {
    "padding_mode": {"onnx": "whose odd cell lies in front"},
    "misc_tensor": {"keras": "does not depend on any input"},
}
