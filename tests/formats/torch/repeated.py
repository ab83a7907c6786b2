"""Repeated, ported by convoy 0.1.0 from repeated.keras (Keras 3.15.1).

Weights: repeated.safetensors. Check: python repeated.py
"""

import hashlib
import sys
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional as F

HERE = Path(__file__).resolve()
WEIGHTS_SHA256 = "0123"


class ResidualBlock(nn.Module):
    def __init__(
        self, in_channels: int, out_channels: int, stride: int, hidden_channels: int
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, (3, 5), stride=stride, padding=(1, 2), bias=False
        )
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001, momentum=0.01)
        self.conv_2 = nn.Conv2d(out_channels, hidden_channels, 1, bias=False)
        self.bn_2 = nn.BatchNorm2d(hidden_channels, eps=0.001, momentum=0.01)
        self.conv_3 = nn.Conv2d(hidden_channels, out_channels, 3, padding=1, bias=False)
        self.bn_3 = nn.BatchNorm2d(out_channels, eps=0.001, momentum=0.01)

    def forward(self, x: Tensor) -> Tensor:
        relu = F.relu(self.bn(self.conv(x)))
        x = F.relu(self.bn_2(self.conv_2(relu)))
        x = F.relu(self.bn_3(self.conv_3(x)))
        return relu + x


class Repeated(nn.Module):
    """float32 [N, 2, 12, 15] -> float32 [N, 10, 6, 8]."""

    def __init__(self) -> None:
        super().__init__()
        self.residual_blocks = nn.Sequential(
            ResidualBlock(2, 6, 1, 7), ResidualBlock(6, 8, 2, 9), ResidualBlock(8, 10, 1, 11)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.residual_blocks(x)


def load(weights: str | Path = HERE.with_suffix(".safetensors")) -> Repeated:
    """The network with its weights, ready to answer. ValueError: weights of another port."""
    data = Path(weights).read_bytes()
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise ValueError(f"{weights}: not the weights of this module (SHA-256 differs)")
    model = Repeated()
    model.load_state_dict(safetensors.torch.load(data), strict=True)
    return model.eval()


def check() -> int:
    """Compares with the stored answer of the source; the exit code."""
    stored = safetensors.torch.load_file(HERE.with_suffix(".check.safetensors"))
    with torch.no_grad():
        y = load()(stored["input"])
    expected = stored["output"]
    if y.shape != expected.shape:
        sys.exit(f"the answer has shape {list(y.shape)}, stored is {list(expected.shape)}")
    difference = (y - expected).abs()
    largest = difference.max().item()
    agrees = bool((difference <= stored["bound"]).all())
    if not agrees:
        print(
            f"repeated: differs from repeated.keras, largest difference {largest:.1e}",
            file=sys.stderr,
        )
        return 1
    print(f"repeated: agrees with repeated.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"repeated: {error}")
