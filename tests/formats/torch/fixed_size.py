"""FixedSize, ported by convoy 0.1.0 from fixed_size.keras (Keras 3.15.1).

Weights: fixed_size.safetensors. Check: python fixed_size.py
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


class FixedSize(nn.Module):
    """float32 [N, 1, 100, 20]
    -> float32 [N, 4].

    Keras read [N, 100, 20, 1], permuted (0, 3, 1, 2).
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 8, (4, 1))
        self.norm = nn.BatchNorm2d(100, eps=0.001, momentum=0.01)  # over the rows
        self.drop = nn.Dropout(0.25)
        self.pool = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.out = nn.Linear(4000, 4)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1:] != (1, 100, 20):
            raise ValueError(f"this port holds for [N, 1, 100, 20], not for {list(x.shape)}")
        x = F.pad(x, (0, 0, 1, 2))  # kernel 4x1: rows 1 before, 2 after
        x = F.elu(self.conv(x))
        x = self.norm(x.transpose(1, 2))
        x = self.pool(self.drop(x.transpose(1, 2)))
        return F.softmax(self.out(x.flatten(1)), dim=1)


def load(weights: str | Path = HERE.with_suffix(".safetensors")) -> FixedSize:
    """The network with its weights, ready to answer. ValueError: weights of another port."""
    data = Path(weights).read_bytes()
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise ValueError(f"{weights}: not the weights of this module (SHA-256 differs)")
    model = FixedSize()
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
            f"fixed_size: differs from fixed_size.keras, largest difference {largest:.1e}",
            file=sys.stderr,
        )
        return 1
    print(f"fixed_size: agrees with fixed_size.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"fixed_size: {error}")
