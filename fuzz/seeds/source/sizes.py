import math
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, n=4, k=(3, 3)):
        super().__init__()
        self.sizes = [n * 2**i for i in range(3)]
        self.blocks = nn.ModuleList([nn.Conv2d(a, b, k, padding=1) for a, b in zip([3] + self.sizes, self.sizes)])
        self.scale = nn.Parameter(torch.zeros(1, self.sizes[-1], 1, 1))
        self.register_buffer("grid", torch.arange(8).reshape(1, 1, 1, 8) * torch.ones(1, 1, 8, 1))
    def forward(self, x):
        for block in self.blocks:
            x = torch.relu(block(x))
        n, c, h, w = x.shape
        y = x.view(n, c, h * w).transpose(1, 2).reshape(n, -1, c)
        x = x + self.scale * self.grid + y.mean() + math.prod(x.shape) / x.numel()
        return torch.cat([x, x[:, :2], x.flatten(2).sum(-1)[:, :, None, None].expand(-1, -1, h, w)], 1)
net = Net()
