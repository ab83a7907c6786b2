"""Code as people paste it into questions: read as it stands, bound to the weights that the framework saved, and equal."""
import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

TOLERANCE = 2e-5

# name: (shape of the input, text). The last name that is bound is the model; `Net` and `build` are called without arguments.
TORCH = {
    "lstm_head": ((2, 7, 5), """
class Net(nn.Module):
    def __init__(self, n_in=5, hidden=6, classes=3):
        super(Net, self).__init__()
        self.lstm = nn.LSTM(n_in, hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.fc = nn.Linear(hidden * 2, classes)

    def forward(self, x):
        h0 = torch.zeros(4, x.size(0), 6)
        c0 = torch.zeros(4, x.size(0), 6)
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1, :])
"""),
    "gru_last_state": ((3, 4, 5), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        y, h = self.rnn(x)
        return self.out(h[-1]), y.mean(dim=0)
"""),
    "rnn_relu": ((2, 6, 3), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(3, 4, nonlinearity='relu', batch_first=True, bias=False)

    def forward(self, x):
        return self.rnn(x)[0].permute(0, 2, 1)
"""),
    "module_dict": ((2, 3, 8, 9), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({'mask': nn.Conv2d(8, 1, 1), 'edge': nn.Conv2d(8, 2, 3, padding=1)})
        self.acts = nn.ModuleDict([['lrelu', nn.LeakyReLU(0.1)], ['prelu', nn.PReLU()]])
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding='same'), nn.BatchNorm2d(8))

    def forward(self, x, act='prelu'):
        x = self.acts[act](self.body(x))
        return {k: head(x) for k, head in self.heads.items()}
"""),
    "same_conv": ((1, 3, 13, 10), """
import math

class Conv2dSame(torch.nn.Conv2d):
    def calc_same_pad(self, i: int, k: int, s: int, d: int) -> int:
        return max((math.ceil(i / s) - 1) * s + (k - 1) * d + 1 - i, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ih, iw = x.size()[-2:]
        pad_h = self.calc_same_pad(i=ih, k=self.kernel_size[0], s=self.stride[0], d=self.dilation[0])
        pad_w = self.calc_same_pad(i=iw, k=self.kernel_size[1], s=self.stride[1], d=self.dilation[1])
        if pad_h > 0 or pad_w > 0:
            x = F.pad(x, [pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2])
        return F.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

net = nn.Sequential(Conv2dSame(3, 4, (3, 5), stride=2), nn.ReLU6(), Conv2dSame(4, 6, 3, stride=(1, 3), groups=2))
"""),
    "upsampling": ((1, 4, 5, 6), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.conv = nn.Conv2d(4, 3, 3, 1, 1)

    def forward(self, x):
        y = F.interpolate(x, size=(x.shape[2] * 3, x.shape[3] * 2), mode='nearest')
        z = F.interpolate(self.up(x), size=y.size()[2:], mode='bilinear', align_corners=False)
        return self.conv(torch.cat([y, z][:1], 1) + z)
"""),
    "weight_norm": ((2, 3, 9), """
from torch.nn.utils import weight_norm
from torch.nn.utils.parametrizations import weight_norm as new_weight_norm

class Chomp1d(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
    def forward(self, x):
        return x[:, :, :-self.size].contiguous()

def block(i, o, k, d):
    pad = (k - 1) * d
    return nn.Sequential(weight_norm(nn.Conv1d(i, o, k, padding=pad, dilation=d)), Chomp1d(pad), nn.ReLU(), nn.Dropout(0.2))

class Net(nn.Module):
    def __init__(self, channels=(4, 6)):
        super().__init__()
        layers = []
        for i, c in enumerate(channels):
            layers += [block(3 if i == 0 else channels[i - 1], c, 3, 2 ** i)]
        self.network = nn.Sequential(*layers)
        self.last = new_weight_norm(nn.Linear(6, 2))

    def forward(self, x):
        return self.last(self.network(x)[..., -1])
"""),
    "console": ((2, 3, 6, 6), """
>>> import torch
>>> from torch import nn
>>> m = nn.Sequential(
...     nn.Conv2d(3, 4, kernel_size=3, stride=2, padding=1, bias=False),
...     nn.InstanceNorm2d(4),
... )
>>> m(torch.randn(2, 3, 6, 6)).shape
torch.Size([2, 4, 3, 3])
"""),
    "notebook": ((2, 1, 28, 28), """
!pip install torch torchvision
%matplotlib inline
import torch
import torch.nn as nn
import torch.nn.functional as F
try:
    from torchvision import transforms
except ImportError:
    transforms = None

class LeNet(nn.Module):
    def __init__(self):
        super(LeNet, self).__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def num_flat_features(self, x):
        size = x.size()[1:]
        num_features = 1
        for s in size:
            num_features *= s
        return num_features

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, self.num_flat_features(x))
        x = F.dropout(F.relu(self.fc1(x)), training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)

net = LeNet()
print net
"""),
    "depthwise_trick": ((2, 6, 7, 8), """
class SeparableConv(nn.Module):
    def __init__(self, nin, nout, kernels_per_layer=2):
        super().__init__()
        self.depthwise = nn.Conv2d(nin, nin * kernels_per_layer, kernel_size=3, padding=1, groups=nin)
        self.pointwise = nn.Conv2d(nin * kernels_per_layer, nout, kernel_size=1)
        self.register_buffer('scale', torch.full((1, nout, 1, 1), 0.5))

    def forward(self, x):
        b, c, h, w = x.shape
        y = self.pointwise(self.depthwise(x)) * self.scale
        y = y.view(b, 2, -1, h, w).transpose(1, 2).contiguous().view(b, -1, h, w)  # shuffle
        return y.flatten(2).permute(0, 2, 1)

model = SeparableConv(6, 4)
"""),
    "places": ((2, 4, 5), """
class Net(nn.Module):
    def forward(self, x):
        a = x[:, [0, 2, 3], :]
        b = x[0, [1, 2]]
        c = x[..., torch.tensor([4, 0])]
        d = x[:, ::2, None, -1]
        e = x[:, torch.arange(4) % 2 == 0] if False else x[1]
        return a, b, c, d, e
"""),
    "written_parts": ((2, 6, 5, 4), """
class Net(nn.Module):
    def forward(self, x):
        fold = x.size(1) // 3
        out = torch.zeros_like(x)
        out[:, :fold, :-1] = x[:, :fold, 1:]
        out[:, fold:2 * fold, 1:] = x[:, fold:2 * fold, :-1]
        out[:, 2 * fold:] = x[:, 2 * fold:]
        out[:, 0, 0] += 1
        out[:, 1].mul_(2)
        out[..., -1] = 0.5
        first = out[0]
        first[2, :, 1:3] -= 3
        x[x > 1] = 0
        return out, x
"""),
    "extremes": ((3, 5), """
class Net(nn.Module):
    def forward(self, x):
        m = x.max(dim=1, keepdim=True)
        t = x.topk(2, dim=1)
        s, i = torch.sort(x, dim=-1, descending=True)
        return m.values, m.indices, t.values, t.indices, s, i, x.min(0)[1]
"""),
    "clones": ((2, 4), """
import copy
def clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = clones(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), 3)
        self.layers[0][0].weight.requires_grad = False
    def forward(self, x):
        for l in self.layers:
            x = x + l(x)
        return x
"""),
    "transformer": ((5, 2, 8), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=2, dim_feedforward=12, activation='gelu', norm_first=True)
        self.att = nn.MultiheadAttention(8, 4, kdim=8, vdim=8)
        self.cross = nn.MultiheadAttention(8, 4, kdim=6, vdim=4, batch_first=True)
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        y = self.t(x, x * 0.5, tgt_mask=mask)
        z, w = self.att(y, x, x)
        b = x.transpose(0, 1)
        return z, w, self.cross(b, b[..., :6], b[..., 2:6])[0]
"""),
    "positions": ((7, 2, 8), """
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)
    def forward(self, x):
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)
import math
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos = PositionalEncoding(8)
        layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        self.enc = nn.TransformerEncoder(layer, num_layers=2)
        self.out = nn.Linear(8, 3)
    def forward(self, src):
        return self.out(self.enc(self.pos(src * math.sqrt(8))))
"""),
    "coordinates": ((1, 2, 4, 6), """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(5, 3, 3, padding=1)
    def forward(self, x):
        b, _, h, w = x.size()
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing='ij')
        gx, gy = torch.meshgrid(torch.arange(w, dtype=torch.float), torch.arange(h).float(), indexing='xy')
        r = torch.sqrt(torch.pow(xx, 2) + torch.pow(yy, 2))
        coords = torch.stack((xx + gx, yy + gy, r)).unsqueeze(0).repeat(b, 1, 1, 1)
        return self.conv(torch.cat([x, coords.type_as(x)], dim=1))
"""),
    "element_types": ((2, 3, 4), """
class Net(nn.Module):
    def forward(self, x):
        mask = (x > 0).float()
        n = (x * 3).int() % 2
        return mask * x, n, (x > 0) & ~(x > 1), (x * 2).long() // 2, x.flatten(1).unfold(1, 5, 3), x.double().mean().float()
"""),
    "spectral_norms": ((1, 3, 5, 4), """
from torch.nn.utils import spectral_norm
net = nn.Sequential(spectral_norm(nn.ConvTranspose2d(3, 3, 3, 2, 1)), nn.PReLU(), spectral_norm(nn.Conv2d(3, 5, 1)), nn.utils.parametrizations.spectral_norm(nn.ConvTranspose2d(5, 5, 2)))
"""),
    "own_gradient": ((2, 4), """
class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k=2):
        ctx.k = k
        return x.sign() * k
    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None
binarize = Binarize.apply
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.w = nn.Parameter(data=torch.ones(3), requires_grad=False)
        self.w.data[1] = 5
        nn.init.constant_(self.w, 2)
    def forward(self, x):
        return F.linear(x, binarize(self.fc.weight), self.fc.bias) * self.w
"""),
    "masked_convolution": ((2, 1, 9, 9), """
class MaskedConv2d(nn.Conv2d):
    def __init__(self, mask_type, *args, **kwargs):
        super(MaskedConv2d, self).__init__(*args, **kwargs)
        assert mask_type in {'A', 'B'}
        self.register_buffer('mask', self.weight.data.clone())
        _, _, kH, kW = self.weight.size()
        self.mask.fill_(1)
        self.mask[:, :, kH // 2, kW // 2 + (mask_type == 'B'):] = 0
        self.mask[:, :, kH // 2 + 1:] = 0
    def forward(self, x):
        self.weight.data *= self.mask
        return super(MaskedConv2d, self).forward(x)
fm = 4
net = nn.Sequential(
    MaskedConv2d('A', 1, fm, 7, 1, 3, bias=False), nn.BatchNorm2d(fm), nn.ReLU(True),
    MaskedConv2d('B', fm, fm, 7, 1, 3, bias=False), nn.BatchNorm2d(fm), nn.ReLU(True),
    nn.Conv2d(fm, 256, 1))
"""),
    "patches": ((2, 3, 32, 24), """
class Attention(nn.Module):
    def __init__(self, dim, num_heads=4, qkv_bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)
class Net(nn.Module):
    def __init__(self, p=8, dim=16):
        super().__init__()
        self.p = p
        self.embed = nn.Linear(3 * p * p, dim)
        self.att = Attention(dim)
        self.fc = nn.Linear(dim, 4)
    def forward(self, img):
        # einops-free patches
        b, c, h, w = img.shape
        x = img.unfold(2, self.p, self.p).unfold(3, self.p, self.p)
        x = x.permute(0, 2, 3, 1, 4, 5).reshape(b, -1, c * self.p * self.p)
        x = self.embed(x)
        x = x + self.att(x)
        return torch.flatten(self.fc(x).mean(1), 1)
"""),
    "small_vit": ((2, 3, 16, 24), """
import torch
import torch.nn as nn
class PatchEmbed(nn.Module):
    def __init__(self, img=(16, 24), patch=8, chans=3, dim=12):
        super().__init__()
        self.n = (img[0] // patch) * (img[1] // patch)
        self.proj = nn.Conv2d(chans, dim, kernel_size=patch, stride=patch)
    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)
class Block(nn.Module):
    def __init__(self, dim, heads, mlp=2.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, dropout=0.1, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, int(dim * mlp)), nn.GELU(), nn.Dropout(0.1), nn.Linear(int(dim * mlp), dim))
    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))
class ViT(nn.Module):
    def __init__(self, dim=12, depth=2, heads=3, classes=5):
        super().__init__()
        self.patch = PatchEmbed(dim=dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, self.patch.n + 1, dim) * 0.02)
        self.blocks = nn.Sequential(*[Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        nn.init.trunc_normal_(self.cls, std=0.02)
    def forward(self, x):
        B = x.shape[0]
        x = self.patch(x)
        cls = self.cls.expand(B, -1, -1)
        x = torch.cat((cls, x), dim=1) + self.pos
        x = self.blocks(x)
        return self.head(self.norm(x)[:, 0])
model = ViT()
"""),
    "spatial_transformer": ((2, 1, 28, 28), """
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.conv2_drop = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)
        self.localization = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=7), nn.MaxPool2d(2, stride=2), nn.ReLU(True),
            nn.Conv2d(8, 10, kernel_size=5), nn.MaxPool2d(2, stride=2), nn.ReLU(True))
        self.fc_loc = nn.Sequential(nn.Linear(10 * 3 * 3, 32), nn.ReLU(True), nn.Linear(32, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))
    def stn(self, x):
        xs = self.localization(x)
        xs = xs.view(-1, 10 * 3 * 3)
        theta = self.fc_loc(xs)
        theta = theta.view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size())
        x = F.grid_sample(x, grid)
        return x
    def forward(self, x):
        x = self.stn(x)
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = x.view(-1, 320)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, training=self.training)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)
model = Net()
"""),
    "cbam": ((2, 8, 9, 7), """
import torch
import torch.nn as nn
class BasicConv(nn.Module):
    def __init__(self, in_planes, out_planes, kernel_size, stride=1, padding=0, dilation=1, groups=1, relu=True, bn=True, bias=False):
        super(BasicConv, self).__init__()
        self.out_channels = out_planes
        self.conv = nn.Conv2d(in_planes, out_planes, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias)
        self.bn = nn.BatchNorm2d(out_planes,eps=1e-5, momentum=0.01, affine=True) if bn else None
        self.relu = nn.ReLU() if relu else None
    def forward(self, x):
        x = self.conv(x)
        if self.bn is not None:
            x = self.bn(x)
        if self.relu is not None:
            x = self.relu(x)
        return x
class Flatten(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1)
class ChannelGate(nn.Module):
    def __init__(self, gate_channels, reduction_ratio=16, pool_types=['avg', 'max']):
        super(ChannelGate, self).__init__()
        self.gate_channels = gate_channels
        self.mlp = nn.Sequential(
            Flatten(),
            nn.Linear(gate_channels, gate_channels // reduction_ratio),
            nn.ReLU(),
            nn.Linear(gate_channels // reduction_ratio, gate_channels))
        self.pool_types = pool_types
    def forward(self, x):
        channel_att_sum = None
        for pool_type in self.pool_types:
            if pool_type=='avg':
                avg_pool = F.avg_pool2d( x, (x.size(2), x.size(3)), stride=(x.size(2), x.size(3)))
                channel_att_raw = self.mlp( avg_pool )
            elif pool_type=='max':
                max_pool = F.max_pool2d( x, (x.size(2), x.size(3)), stride=(x.size(2), x.size(3)))
                channel_att_raw = self.mlp( max_pool )
            elif pool_type=='lp':
                lp_pool = F.lp_pool2d( x, 2, (x.size(2), x.size(3)), stride=(x.size(2), x.size(3)))
                channel_att_raw = self.mlp( lp_pool )
            elif pool_type=='lse':
                lse_pool = logsumexp_2d(x)
                channel_att_raw = self.mlp( lse_pool )
            if channel_att_sum is None:
                channel_att_sum = channel_att_raw
            else:
                channel_att_sum = channel_att_sum + channel_att_raw
        scale = F.sigmoid( channel_att_sum ).unsqueeze(2).unsqueeze(3).expand_as(x)
        return x * scale
def logsumexp_2d(tensor):
    tensor_flatten = tensor.view(tensor.size(0), tensor.size(1), -1)
    s, _ = torch.max(tensor_flatten, dim=2, keepdim=True)
    outputs = s + (tensor_flatten - s).exp().sum(dim=2, keepdim=True).log()
    return outputs
class ChannelPool(nn.Module):
    def forward(self, x):
        return torch.cat( (torch.max(x,1)[0].unsqueeze(1), torch.mean(x,1).unsqueeze(1)), dim=1 )
class SpatialGate(nn.Module):
    def __init__(self):
        super(SpatialGate, self).__init__()
        kernel_size = 7
        self.compress = ChannelPool()
        self.spatial = BasicConv(2, 1, kernel_size, stride=1, padding=(kernel_size-1) // 2, relu=False)
    def forward(self, x):
        x_compress = self.compress(x)
        x_out = self.spatial(x_compress)
        scale = F.sigmoid(x_out) # broadcasting
        return x * scale
class CBAM(nn.Module):
    def __init__(self, gate_channels, reduction_ratio=16, pool_types=['avg', 'max'], no_spatial=False):
        super(CBAM, self).__init__()
        self.ChannelGate = ChannelGate(gate_channels, reduction_ratio, pool_types)
        self.no_spatial=no_spatial
        if not no_spatial:
            self.SpatialGate = SpatialGate()
    def forward(self, x):
        x_out = self.ChannelGate(x)
        if not self.no_spatial:
            x_out = self.SpatialGate(x_out)
        return x_out
net = CBAM(8, 4, ['avg', 'max', 'lp', 'lse'])
"""),
    "nearly_same": ((1, 3, 14, 11), """
# subtly wrong: pads by the kernel and the stride, not by the size
class Conv2dSame(nn.Conv2d):
    def forward(self, x):
        ih, iw = x.size()[-2:]
        kh, kw = self.weight.size()[-2:]
        sh, sw = self.stride
        pad_h = max(kh - sh, 0)
        pad_w = max(kw - sw, 0)
        x = F.pad(x, (pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2))
        return F.conv2d(x, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)
net = nn.Sequential(Conv2dSame(3, 4, 3, stride=2), Conv2dSame(4, 2, 5, stride=3, bias=False))
"""),
    "same_turned": ((1, 3, 14, 11), """
# top and left get the larger half
class SamePool(nn.Module):
    def __init__(self, k, s):
        super().__init__()
        self.k, self.s = k, s
    def forward(self, x):
        h, w = x.shape[2], x.shape[3]
        ph = max((-(-h // self.s) - 1) * self.s + self.k - h, 0)
        pw = max((-(-w // self.s) - 1) * self.s + self.k - w, 0)
        x = F.pad(x, (pw - pw // 2, pw // 2, ph - ph // 2, ph // 2), mode='constant', value=-float('inf'))
        return F.max_pool2d(x, self.k, self.s)
net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), SamePool(2, 2), SamePool(3, 2))
"""),
}

# Beside these: text that PyTorch's side does not run, because its imports find nothing there either.
UNRUN = {
    "trained_below": ((2, 1, 28, 28), """
import cv2, pandas as pd
from ..utils import weird
from tqdm import tqdm
import torch.optim as optim
from torchvision import datasets, transforms
from torch.utils.data import DataLoader, Dataset

class Digits(Dataset):
    def __init__(self, frame: pd.DataFrame, transform: weird.Thing = None):
        self.frame = pd.read_csv(frame)
    def __len__(self):
        return len(self.frame)
""", """
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.fc = nn.Linear(1440, 10)
    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        return F.log_softmax(self.fc(x.view(-1, 1440)), dim=1)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Net().to(device)
""", """
loader = DataLoader(datasets.MNIST('../data', train=True, download=True), batch_size=64, shuffle=True)
optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
criterion = nn.CrossEntropyLoss()

def train(epoch):
    model.train()
    for index, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()

for epoch in tqdm(range(1, 11)):
    train(epoch)
torch.save(model.state_dict(), 'digits.pt')
"""),
    "settings": ((1, 3, 12, 10), """
from dataclasses import dataclass, field
from enum import Enum
from contextlib import nullcontext
import fancy_logging
""", """
class Kind(Enum):
    PLAIN = "plain"
    NORMED = "normed"
    DEFAULT = NORMED

@dataclass
class Settings:
    width: int
    depth: int = 2
    kind: Kind = Kind.DEFAULT
    sizes: list = field(default_factory=lambda: [3, 5])

def layers_of(s):
    for i in range(s.depth):
        yield nn.Conv2d(3 if i == 0 else s.width, s.width, s.sizes[i], padding='same')
        if s.kind is Kind.NORMED:
            yield nn.BatchNorm2d(s.width)
        yield nn.ReLU()

class Net(nn.Module):
    def __init__(self, s=Settings(width=6)):
        super().__init__()
        self.body = nn.Sequential(*layers_of(s))
    def forward(self, x):
        with nullcontext():
            return self.body(x)
""", """
fancy_logging.info(f"{Settings(3)=}")
"""),
}

KERAS = {
    "old_names": ((30, 41, 3), """
model = Sequential()
model.add(Convolution2D(8, 3, 3, border_mode='same', input_shape=(30, 41, 3)))
model.add(BatchNormalization())
model.add(Activation('relu'))
model.add(MaxPooling2D(pool_size=(2, 3)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(output_dim=5, activation='softmax'))
"""),
    "same_by_place": ((13, 10, 3), """
from tensorflow.keras.models import Sequential
from tensorflow.keras.layers import Conv2D, MaxPooling2D, Flatten, Dense
model = Sequential([
    Conv2D(32, (3, 3), padding='same', activation='relu', input_shape=(13, 10, 3)),
    Conv2D(16, 3, 2, 'same'),
    MaxPooling2D(3, 2, 'same'),
    Flatten(), Dense(4)])
model.compile(optimizer='adam', loss='mse')
model.summary()
"""),
    "functional_residual": ((16, 12, 3), """
import tensorflow as tf
from tensorflow.keras import layers

def residual_block(x, filters, stride=1):
    shortcut = x
    if stride != 1 or x.shape[-1] != filters:
        shortcut = layers.Conv2D(filters, 1, strides=stride, use_bias=False)(x)
        shortcut = layers.BatchNormalization()(shortcut)
    x = layers.Conv2D(filters, 3, strides=stride, padding='same', use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(filters, 3, padding='same', use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(layers.add([x, shortcut]))

inputs = tf.keras.Input(shape=(16, 12, 3))
x = layers.Conv2D(8, 3, padding='same')(inputs)
for filters, stride in [(8, 1), (16, 2), (16, 1)]:
    x = residual_block(x, filters, stride)
x = layers.GlobalAveragePooling2D()(x)
model = tf.keras.Model(inputs=inputs, outputs=layers.Dense(5)(x))
"""),
    "time_distributed": ((4, 9, 8, 2), """
import keras
model = keras.Sequential()
model.add(keras.layers.TimeDistributed(keras.layers.Conv2D(3, (2, 3), padding='same'), input_shape=(4, 9, 8, 2)))
model.add(keras.layers.TimeDistributed(keras.layers.Flatten()))
model.add(keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True)))
model.add(keras.layers.LSTM(4))
model.add(keras.layers.Dense(3, activation='softmax'))
"""),
    "lambda_free_ops": ((12, 6), """
from keras import layers, ops, Model, Input
inp = Input((12, 6))
a = layers.Conv1D(4, 3, padding='causal', dilation_rate=2)(inp)
b = layers.Conv1D(4, 5, padding='same')(inp)
x = a * 0.5 + b
x = ops.concatenate([x, ops.mean(x, axis=-1, keepdims=True)], axis=-1)
x = layers.GRU(3, return_sequences=False)(x[:, ::2])
model = Model(inp, x)
"""),
    "joined_along_the_first_axis": ((6, 5), """
from keras import layers, ops, Model, Input
inp = Input((6, 5))
x = ops.transpose(layers.Dense(4)(inp), axes=(1, 0, 2))
x = ops.transpose(ops.concatenate([x, ops.tanh(x)]), axes=(1, 0, 2))
model = Model(inp, layers.concatenate([x, ops.sin(x)]))
"""),
    "sub_models": ((10, 8, 3), """
from keras.models import Sequential, Model
from keras.layers import *

def encoder():
    m = Sequential(name='encoder')
    m.add(Conv2D(4, 3, strides=2, padding='same', input_shape=(10, 8, 3)))
    m.add(LeakyReLU(0.2))
    m.add(Conv2D(6, 3, strides=2, padding='same'))
    return m

def decoder():
    return Sequential([Input((3, 2, 6)), Conv2DTranspose(5, 4, strides=2, padding='same'), UpSampling2D((2, 2)),
                       Conv2D(1, 3, padding='same', activation='sigmoid')], name='decoder')

enc, dec = encoder(), decoder()
x = Input((10, 8, 3))
model = Model(x, dec(enc(x)))
"""),
}


@pytest.mark.parametrize("name", sorted(TORCH))
def test_pasted_pytorch(name, tmp_path):
    torch = pytest.importorskip("torch")
    shape, text = TORCH[name]
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    exec(plain(text), scope)
    torch.manual_seed(3)
    bound = [v for v in scope.values() if isinstance(v, torch.nn.Module)]
    net = (bound[-1] if bound else scope["Net"]()).eval()
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    x = torch.randn(*shape)
    with torch.no_grad():
        y = net(x.clone())  # some write into their input
    y = list(y.values()) if isinstance(y, dict) else list(y) if isinstance(y, tuple) else [y]
    (tmp_path / "pasted.py").write_text(text)
    got = run_natively([tmp_path / "pasted.py", "--weights", tmp_path / "weights.pt"], {"x": x.numpy()}, tmp_path)
    assert_close(got, [t.numpy() for t in y], TOLERANCE, name)


@pytest.mark.parametrize("name", sorted(UNRUN))
def test_what_cannot_be_imported_is_missed_only_where_it_is_used(name, tmp_path):
    torch = pytest.importorskip("torch")
    shape, before, text, after = UNRUN[name]
    if name == "settings":
        before = before.replace("import fancy_logging\n", "")
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "__name__": "snippet"}
    exec(before if name == "settings" else "", scope)
    exec(text, scope)
    torch.manual_seed(3)
    net = scope["Net"]().eval()
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    x = torch.randn(*shape)
    with torch.no_grad():
        y = net(x)
    (tmp_path / "pasted.py").write_text(UNRUN[name][1] + "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
                                        + text + after)
    got = run_natively([tmp_path / "pasted.py", "--weights", tmp_path / "weights.pt"], {"x": x.numpy()}, tmp_path)
    assert_close(got, [y.numpy()], TOLERANCE, name)


def plain(text: str) -> str:
    """What Python itself can run of it."""
    lines = [line for line in text.splitlines() if not line.startswith(("!", "%", "print "))]
    if any(line.startswith(">>> ") for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    return "\n".join(lines)


@pytest.mark.parametrize("name", sorted(KERAS))
def test_pasted_keras(name, tmp_path):
    keras = pytest.importorskip("keras")
    shape, text = KERAS[name]
    keras.backend.clear_session()
    keras.utils.set_random_seed(2)
    scope = {word: getattr(keras.layers, word) for word in dir(keras.layers) if word[0].isupper()}
    scope |= {"Sequential": keras.Sequential}
    now = text.replace("Convolution2D(8, 3, 3, border_mode='same'", "Conv2D(8, (3, 3), padding='same'")
    exec(now.replace("output_dim=", "units=").replace("tensorflow.keras", "keras").replace("tf.keras", "keras")
         .replace("import tensorflow as tf", "import keras"), scope)
    model = scope["model"]
    random = np.random.RandomState(1)
    for weight in model.weights:
        low = 0.5 if "variance" in weight.path or "gamma" in weight.path else -0.5
        weight.assign(random.uniform(low, low + 1, weight.shape))
    model.save_weights(tmp_path / "net.weights.h5")
    x = random.uniform(-1, 1, (2, *shape)).astype(np.float32)
    want = keras.ops.convert_to_numpy(model(x, training=False))
    (tmp_path / "pasted.py").write_text(text)
    source = [f"{tmp_path / 'pasted.py'}:model", "--weights", tmp_path / "net.weights.h5"]
    assert_close(run_natively(source, {"x": x}, tmp_path), [want], TOLERANCE, name)


# What may not be read over: it might be the model that is meant, or change it.
MISSED = {
    "a base": ("pasted.py:7:", "from torch import nn\nfrom mylib import Base\nclass A(nn.Module):\n    def __init__(self):\n"
               "        super().__init__()\n        self.l = nn.Linear(3, 4)\nclass Net(Base):\n    pass\n"),
    "a layer": ("pasted.py:4:", "from torch import nn\nfrom mylib import Weird\nnet = nn.Sequential(nn.Linear(3, 4))\n"
                "net.append(Weird(4))\n"),
    "a loop": ("pasted.py:5:", "from torch import nn\nfrom mylib import Weird\nnet = nn.Sequential(nn.Linear(3, 4))\n"
               "for n in (1, 2):\n    net.add_module(str(n), Weird(n))\n"),
    "a function": ("pasted.py:5:", "from torch import nn\nimport mylib\nnet = nn.Sequential(nn.Linear(3, 4))\n"
                   "def patch(m):\n    m[0] = mylib.Weird()\npatch(net)\n"),
    "a wrapper": ("pasted.py:4:", "from torch import nn\nimport mylib\nnet = nn.Sequential(nn.Linear(3, 4))\n"
                  "net = mylib.wrap(net)\n"),
    "a whole module": ("pasted.py:3:", "from torch import nn\nfrom mylib import *\nnet = nn.Sequential(Linear(3, 4))\n"),
    "loaded weights": ("--weights", "import torch\nfrom torch import nn\nnet = nn.Linear(3, 4)\n"
                       "net.load_state_dict(torch.load('net.pt'))\n"),
}


@pytest.mark.parametrize("name", sorted(MISSED))
def test_what_might_change_the_model_is_not_read_over(name, tmp_path):
    words, text = MISSED[name]
    (tmp_path / "pasted.py").write_text(text)
    if name == "loaded weights":
        np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
        said = convoy("run", tmp_path / "pasted.py", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", code=None)
        assert words in said.stderr
        return
    done = convoy("summary", tmp_path / "pasted.py", "--shape", "2,3", code=6)
    assert words in done.stderr and ("mylib" in done.stderr), done.stderr


def test_an_import_that_is_used_is_refused_at_its_use(tmp_path):
    (tmp_path / "pasted.py").write_text("import cv2\nfrom torch import nn\n\ndef build(n=3):\n    size = cv2.imread('a.png').shape\n"
                                        "    return nn.Linear(n, size[0])\n")
    said = convoy("summary", tmp_path / "pasted.py:build", code=6).stderr
    assert "pasted.py:6:21:" in said and "'out_features' is a value of 'cv2.imread().shape" in said and "is not read" in said


REFUSED = {
    "parted lists": ("slices stand between", "from torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
                     "        return x[0, :, [0, 1]]\n"),
    "random numbers": ("random numbers", "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
                       "        return x + torch.randn_like(x)\n"),
    "free counts": ("nonzero()", "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
                    "        return torch.nonzero(x > 0)\n"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_read_is_refused_at_its_place(name, tmp_path):
    words, text = REFUSED[name]
    (tmp_path / "pasted.py").write_text(text)
    done = convoy("summary", tmp_path / "pasted.py", "--shape", "1,2,3", code=6)
    assert words in done.stderr and "pasted.py:" in done.stderr
