"""The digits network as a person ports it to PyTorch: it runs, it takes the trained weights, and it is wrong in three places."""
import torch.nn as nn
import torch.nn.functional as F


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(16, eps=1e-3)
        self.down = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.down_norm = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.mix = nn.Conv2d(32, 64, 2, padding="same")
        self.digit = nn.Linear(256, 10)

    def forward(self, x):
        x = F.relu(self.stem_norm(self.stem(x)))
        x = self.down_norm(F.relu(self.down(x)))
        x = F.relu(self.mix(self.pool(x)))
        return F.softmax(self.digit(x.flatten(1)), dim=1)
