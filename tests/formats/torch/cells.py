"""Cells, ported by convoy 0.1.0 from cells.keras (Keras 3.15.1).

Weights: cells.safetensors. Check: python cells.py
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


class Lstm(nn.Module):
    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(features, 4 * units))
        self.recurrent_kernel = nn.Parameter(torch.empty(units, 4 * units))
        self.bias = nn.Parameter(torch.empty(4 * units))

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[0], self.recurrent_kernel.shape[0])
        steps = []
        for step in (x @ self.kernel + self.bias).unbind(1):
            i, f, g, o = (step + h @ self.recurrent_kernel).chunk(4, dim=1)
            c = (0.2 * f + 0.5).clamp(0, 1) * c + (0.2 * i + 0.5).clamp(0, 1) * torch.tanh(g)
            h = (0.2 * o + 0.5).clamp(0, 1) * torch.tanh(c)
            steps.append(h)
        return torch.stack(steps, dim=1)


class Gru(nn.Module):
    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(features, 3 * units))
        self.recurrent_kernel = nn.Parameter(torch.empty(units, 3 * units))
        self.bias = nn.Parameter(torch.empty(3 * units))

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], self.recurrent_kernel.shape[0])
        steps = []
        for step in (x @ self.kernel + self.bias).unbind(1):
            x_z, x_r, x_n = step.chunk(3, dim=1)
            u_z, u_r, u_n = self.recurrent_kernel.chunk(3, dim=1)
            z, r = torch.sigmoid(x_z + h @ u_z), torch.sigmoid(x_r + h @ u_r)
            n = torch.tanh(x_n + (r * h) @ u_n)
            h = z * h + (1 - z) * n
            steps.append(h)
        return torch.stack(steps, dim=1)


class Gru2(nn.Module):
    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(features, 3 * units))
        self.recurrent_kernel = nn.Parameter(torch.empty(units, 3 * units))
        self.bias = nn.Parameter(torch.empty(3 * units))
        self.recurrent_bias = nn.Parameter(torch.empty(3 * units))

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], self.recurrent_kernel.shape[0])
        steps = []
        for step in (x @ self.kernel + self.bias).unbind(1):
            x_z, x_r, x_n = step.chunk(3, dim=1)
            h_z, h_r, h_n = (h @ self.recurrent_kernel + self.recurrent_bias).chunk(3, dim=1)
            z, r = torch.sigmoid(x_z + h_z), torch.sigmoid(x_r + h_r)
            n = F.relu(x_n + r * h_n)
            h = z * h + (1 - z) * n
            steps.append(h)
        return torch.stack(steps, dim=1)


class Rnn(nn.Module):
    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(features, units))
        self.recurrent_kernel = nn.Parameter(torch.empty(units, units))
        self.bias = nn.Parameter(torch.empty(units))

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], self.recurrent_kernel.shape[0])
        steps = []
        for step in (x @ self.kernel + self.bias).unbind(1):
            h = step + h @ self.recurrent_kernel
            steps.append(h)
        return torch.stack(steps, dim=1)


class Cells(nn.Module):
    """float32 [N, 6, 5] -> float32 [N, 2]."""

    def __init__(self) -> None:
        super().__init__()
        self.a = Lstm(5, 2)
        self.b = Gru(2, 3)
        self.c = Gru2(3, 3)
        self.d = Rnn(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.a(x)
        x = self.b(x)
        x = self.c(x.flip(1))  # from the last step to the first
        return self.d(x)[:, -1]


def load(weights: str | Path = HERE.with_suffix(".safetensors")) -> Cells:
    """The network with its weights, ready to answer. ValueError: weights of another port."""
    data = Path(weights).read_bytes()
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise ValueError(f"{weights}: not the weights of this module (SHA-256 differs)")
    model = Cells()
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
        print(f"cells: differs from cells.keras, largest difference {largest:.1e}", file=sys.stderr)
        return 1
    print(f"cells: agrees with cells.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"cells: {error}")
