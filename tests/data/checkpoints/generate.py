"""Writes small checkpoints of every kind with torch (see versions.txt) and their tensors, dense, as safetensors.

    python generate.py
"""
from collections import OrderedDict
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

HERE = Path(__file__).parent


def views() -> dict[str, torch.Tensor]:
    """Views that lie in their storages in other orders than their own."""
    base = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
    shared = torch.arange(7, dtype=torch.float64)
    return OrderedDict(
        whole=base,
        permuted=base.permute(3, 0, 2, 1),
        channels_last=base.clone().contiguous(memory_format=torch.channels_last),
        part=base[1, :, 1:3],
        stepped=base[:, :, ::2, 1::3],
        repeated=torch.tensor([1.5, -2.0]).unsqueeze(1).expand(2, 3),
        tied_a=shared,
        tied_b=shared[2:5],
        none=torch.zeros(0, 3),
        scalar=torch.tensor(3, dtype=torch.int64),
        half=torch.tensor([0.5, -1.25], dtype=torch.float16),
        brain=torch.tensor([0.5, -1.25], dtype=torch.bfloat16),
        truth=torch.tensor([[True, False, True]]),
        wide=torch.tensor([1, 2**40], dtype=torch.int64),
        small=torch.tensor([-3, 4], dtype=torch.int8),
        unsigned16=torch.tensor([1, 65535], dtype=torch.uint16),
    )


def training() -> dict:
    """What a training script keeps: the weights among other things."""
    torch.manual_seed(0)
    net = nn.Sequential(OrderedDict(conv=nn.Conv2d(2, 3, (1, 2)), norm=nn.BatchNorm2d(3)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(torch.randn(2, 2, 4, 5)).sum().backward()
    optimizer.step()
    return {"epoch": 7, "state_dict": net.state_dict(), "optimizer": optimizer.state_dict(), "note": "best"}


def flattened(value, name="") -> dict[str, torch.Tensor]:
    """Every tensor in a nest of dictionaries and lists, by the keys that lead to it."""
    if isinstance(value, torch.Tensor):
        return {name: value.detach()}
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    found = {}
    for key, one in pairs:
        found |= flattened(one, f"{name}.{key}" if name else str(key))
    return found


for stem, value in {"views": views(), "training": training()}.items():
    torch.save(value, HERE / f"{stem}.pt")
    if stem != "views":  # the older stream has no uint16
        torch.save(value, HERE / f"{stem}.stream.pt", _use_new_zipfile_serialization=False)
    dense = {name: tensor.contiguous().clone() for name, tensor in flattened(value).items()}
    save_file(dense, HERE / f"{stem}.safetensors")
(HERE / "versions.txt").write_text(f"torch {torch.__version__}\n")
