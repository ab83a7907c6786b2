"""Many, ported by convoy 0.1.0 from many.keras (Keras 3.15.1).

Weights: many.safetensors. Check: python many.py
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


class Many(nn.Module):
    """float32 [N, 6, 9, 10] -> float32 [N, 1, 2, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.class_ = nn.ConvTranspose2d(6, 4, 3, stride=2, padding=(0, 1), output_padding=1)
        self.alpha = nn.Parameter(torch.empty(4, 19, 1))
        self.gn = nn.GroupNorm(2, 4, eps=0.001)
        self.gn.bias.requires_grad_(False)
        self.n = nn.LayerNorm(22, eps=0.001, bias=False)
        self.r = nn.RMSNorm(22, eps=1e-06)
        self.register_buffer("m", torch.empty(22, 5))
        self.seq = nn.LSTM(5, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.class_(x)
        x = F.pad(x[:, :, 1:, :-2], (2, 2, 0, 0), mode="reflect")
        x = self.gn(torch.where(x >= 0, x, self.alpha * x))
        x = F.normalize(self.r(self.n(x)), dim=1, eps=1e-06)
        x = F.gelu(
            torch.where(x >= 4.0, 4.0, torch.where(x >= 0.5, x, 0.1 * (x - 0.5))),
            approximate="tanh",
        )
        x = (0.2 * x + 0.5).clamp(0, 1) * (1 / 255) - 1.0
        x = x.clamp(min=-0.999)
        x = torch.exp(x - torch.logsumexp(x, dim=(2, 3), keepdim=True))
        x = x + torch.randn_like(x) * 0.1 if self.training else x  # Gaussian noise
        x = F.interpolate(x, scale_factor=(2, 1), mode="bilinear")
        x = F.interpolate(x, size=(19, 22), mode="nearest") @ self.m
        x = x.flip(2)[:, :, 1:14:2].repeat_interleave(2, dim=1)[:, [3, 0, 5]]
        # from the last step to the first
        x = self.seq(x.repeat(1, 2, 1, 1).reshape(-1, 42, 5).flip(1))[0][:, -1]
        x = torch.where(x < 1, 0.25 * (x.clamp(min=-1) + 1).square(), x)
        return x.unsqueeze(1).unsqueeze(3)


def load(weights: str | Path = HERE.with_suffix(".safetensors")) -> Many:
    """The network with its weights, ready to answer. ValueError: weights of another port."""
    data = Path(weights).read_bytes()
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise ValueError(f"{weights}: not the weights of this module (SHA-256 differs)")
    model = Many()
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
        print(f"many: differs from many.keras, largest difference {largest:.1e}", file=sys.stderr)
        return 1
    print(f"many: agrees with many.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"many: {error}")
