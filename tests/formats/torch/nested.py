"""Nested, ported by convoy 0.1.0 from nested.keras (Keras 3.15.1).

Weights: nested.safetensors. Check: python nested.py
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


class Twin(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c = nn.Conv2d(4, 4, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.c(x))


class Nested(nn.Module):
    """left float32 [N, 4, 8, 8], right float32 [N, 4, 8, 8]
    -> float32 [N, 3, 8, 8], float32 [N, 5, 8, 8].
    """

    def __init__(self) -> None:
        super().__init__()
        self.twin = Twin()
        self.other_twin = Twin()
        self.scale = nn.Parameter(torch.empty(4, 1, 1))

    def forward(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        twin = self.twin(left)
        x = self.twin(right)
        x = self.other_twin(x) * self.scale
        x = torch.cat([twin, x], dim=1)
        cut, cut_2 = x.split((3, 5), dim=1)
        return cut, cut_2


def load(weights: str | Path = HERE.with_suffix(".safetensors")) -> Nested:
    """The network with its weights, ready to answer. ValueError: weights of another port."""
    data = Path(weights).read_bytes()
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise ValueError(f"{weights}: not the weights of this module (SHA-256 differs)")
    model = Nested()
    model.load_state_dict(safetensors.torch.load(data), strict=True)
    return model.eval()


def check() -> int:
    """Compares with the stored answer of the source; the exit code."""
    stored = safetensors.torch.load_file(HERE.with_suffix(".check.safetensors"))
    with torch.no_grad():
        answers = load()(stored["input.left"], stored["input.right"])
    largest, agrees = 0.0, True
    for name, y in zip(("head", "tail"), answers, strict=True):
        expected = stored[f"output.{name}"]
        if y.shape != expected.shape:
            sys.exit(f"the answer has shape {list(y.shape)}, stored is {list(expected.shape)}")
        difference = (y - expected).abs()
        largest = max(largest, difference.max().item())
        agrees = agrees and bool((difference <= stored[f"bound.{name}"]).all())
    if not agrees:
        print(
            f"nested: differs from nested.keras, largest difference {largest:.1e}", file=sys.stderr
        )
        return 1
    print(f"nested: agrees with nested.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"nested: {error}")
