"""Residual, ported by convoy 0.1.0 from residual.keras (Keras 3.15.1).

Weights: residual.safetensors. Check: python residual.py
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


def same_pad(
    x: Tensor, reach: tuple[int, ...], stride: tuple[int, ...], value: float = 0.0
) -> Tensor:
    """x with the cells that SAME adds around its last axes: their number follows from the size."""
    pads: list[int] = []
    for size, r, s in zip(x.shape[::-1], reach[::-1], stride[::-1]):
        total = max((-(-size // s) - 1) * s + r - size, 0)
        pads += [total // 2, total - total // 2]  # the odd cell goes to the end
    return F.pad(x, pads, value=value)


class Residual(nn.Module):
    """float32 [N, 3, ?, ?] -> float32 [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2)
        self.bn = nn.BatchNorm2d(16, momentum=0.01)
        self.body = nn.Conv2d(16, 16, 3, padding="same", bias=False)
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.bn(self.stem(same_pad(x, (3, 3), (2, 2))))
        relu = F.relu(x)
        x = self.body(relu)
        x = F.relu6(self.body(x) + relu)
        return self.head(x.mean(dim=(2, 3)))


def load(weights: str | Path = HERE.with_suffix(".safetensors")) -> Residual:
    """The network with its weights, ready to answer. ValueError: weights of another port."""
    data = Path(weights).read_bytes()
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise ValueError(f"{weights}: not the weights of this module (SHA-256 differs)")
    model = Residual()
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
            f"residual: differs from residual.keras, largest difference {largest:.1e}",
            file=sys.stderr,
        )
        return 1
    print(f"residual: agrees with residual.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"residual: {error}")
