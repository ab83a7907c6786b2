"""Networks whose steps are, between them, all kernels of the native runtime; `threads` reads them as source and draws weights."""
import torch
import torch.nn.functional as F
from torch import nn


class Image(nn.Module):
    """Winograd, few channels, strips, squeeze and excitation, pools, parts of a concatenation, resizing, a transposed one."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 5, padding=2)
        self.norm = nn.BatchNorm2d(8)
        self.wide = nn.Conv2d(8, 96, 1)
        self.depth = nn.Conv2d(96, 96, 3, padding=1, groups=96)
        self.narrow = nn.Conv2d(96, 24, 1)
        self.shrink, self.grow = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)
        self.square = nn.Conv2d(24, 24, 3, padding=1)
        self.groups = nn.Conv2d(24, 24, 3, stride=2, padding=1, groups=4)
        self.up = nn.ConvTranspose2d(48, 16, 4, stride=2, padding=1)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu6(self.norm(self.first(x)))
        x = self.narrow(F.silu(self.depth(F.relu6(self.wide(x)))))
        gate = torch.sigmoid(self.grow(F.relu(self.shrink(x.mean((2, 3), keepdim=True)))))
        x = F.relu(self.square(x * gate) + x)
        y = torch.cat((F.hardswish(self.groups(x)), F.max_pool2d(x, 2)), 1)
        y = F.interpolate(F.avg_pool2d(y, 3, 1, 1), scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(torch.tanh(self.up(y)).mean((2, 3)))


class Attention(nn.Module):
    """Products of computed matrices, softmax, layer norm, GELU, axes that are turned and split."""

    def __init__(self):
        super().__init__()
        self.norm, self.into, self.out = nn.LayerNorm(48), nn.Linear(48, 144), nn.Linear(48, 48)
        self.wide, self.back = nn.Linear(48, 96), nn.Linear(96, 48)

    def forward(self, x):
        q, k, v = self.into(self.norm(x)).view(2, 50, 3, 4, 12).permute(2, 0, 3, 1, 4).unbind(0)
        y = torch.softmax(q @ k.transpose(-2, -1) * 0.25, -1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(2, 50, 48))
        return x + self.back(F.gelu(self.wide(x)))


class Volume(nn.Module):
    """Slices of volumes by Winograd, and a pool of them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv3d(1, 16, 3, padding=1), nn.Conv3d(16, 24, 3, padding=1)

    def forward(self, x):
        return F.max_pool3d(F.relu(self.second(F.elu(self.first(x)))), 2)


class Sound(nn.Module):
    """One axis: dilated and long convolutions by Winograd, others; cells that walk along time."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 48, 7, padding=3)
        self.dilated = nn.Conv1d(48, 48, 3, padding=4, dilation=4)
        self.long = nn.Conv1d(48, 48, 11, padding=5)
        self.lstm = nn.LSTM(48, 20, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(40, 24, batch_first=True)
        self.rnn = nn.RNN(24, 9, batch_first=True)

    def forward(self, x):
        x = F.leaky_relu(self.first(x), 0.1)
        x = x + torch.tanh(self.dilated(x)) * torch.sigmoid(self.long(x))
        return self.rnn(self.gru(self.lstm(x.transpose(1, 2))[0])[0])[0]
