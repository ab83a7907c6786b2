"""TorchScript of real PyTorch, traced, scripted and frozen: convoy's runtime gives the numbers of torch.jit.load."""
import itertools
import subprocess
from pathlib import Path

import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv = nn.Conv2d(i, o, (3, 5), stride, (1, 2), bias=False)
        self.bn = nn.BatchNorm2d(o)
        self.short = nn.Identity() if i == o and stride == 1 else nn.Conv2d(i, o, 1, stride)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)) + self.short(x))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 6, 3, padding="same"), nn.PReLU(6), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.ModuleList([Block(6, 6, 1), Block(6, 8, 2)])
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return F.softmax(self.head(self.drop(x)), dim=1)


class UpDown(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 5, 3, 2, 1, padding_mode="reflect")
        self.norm = nn.GroupNorm(5, 5)
        self.up = nn.ConvTranspose2d(5, 4, 4, 2, 1)

    def forward(self, x):
        y = F.gelu(self.norm(self.down(x)))
        z = self.up(y)
        w = F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return torch.cat([z, w, F.pad(x, (1, 2, 0, 3))[:, :, : x.size(2), : x.size(3)]], 1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(12, 36)
        self.norm = nn.LayerNorm(12)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, n, 3, 3, c // 3).permute(2, 0, 3, 1, 4).unbind(0)
        w = (q @ k.transpose(-2, -1) * (c // 3) ** -0.5).softmax(-1)
        return x + (w @ v).transpose(1, 2).reshape(b, n, c)


class Branches(nn.Module):
    """Only scripting keeps the loop and the branch."""

    def __init__(self, deep: bool):
        super().__init__()
        self.deep = deep
        self.a, self.b = nn.Conv1d(4, 4, 3, padding=1), nn.Conv1d(4, 4, 5, padding=2)

    def forward(self, x, scale: float = 0.5):
        for i in range(3):
            if i % 2 == 0 and self.deep:
                x = torch.tanh(self.a(x))
            else:
                x = x + scale * self.b(x)
        if x.dim() != 3:
            raise ValueError("a series")
        return {"series": x, "mean": x.mean(dim=[2])}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(5, 7, 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0][:, -1]


class Masked(nn.Module):
    """At rest nn.MultiheadAttention is one operator."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True)
        self.register_buffer("later", torch.ones(7, 7).triu(1).bool())

    def forward(self, x):
        y, _ = self.attention(x, x, x, attn_mask=self.later, need_weights=False)
        z, w = self.attention(y, y, y)
        s = F.scaled_dot_product_attention(y[:, None], y[:, None], y[:, None], is_causal=True)
        return {"z": z, "w": w, "s": s}


def encoder(**more):
    """At rest each layer is one operator where the batch comes first."""
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3, 10, batch_first=True, **more), 2)


def spectral():
    norm, new = nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm
    return nn.Sequential(norm(nn.Conv2d(3, 4, (3, 2))), nn.ReLU(), norm(nn.ConvTranspose2d(4, 2, 3)), new(nn.Conv2d(2, 5, 1)))


MODELS = {
    "encoder": (encoder, (2, 7, 12)),
    "encoder_norm_first": (lambda: encoder(norm_first=True, activation="gelu"), (2, 7, 12)),
    "masked": (Masked, (2, 7, 12)),
    "residual": (Residual, (2, 3, 17, 22)),
    "updown": (UpDown, (1, 3, 14, 18)),
    "attention": (Attention, (2, 6, 12)),
    "branches": (lambda: Branches(True), (2, 4, 11)),
    "shallow": (lambda: Branches(False), (2, 4, 11)),
    "recurrent": (Recurrent, (2, 6, 5)),
    "spectral": (spectral, (1, 3, 9, 8)),
    "layers": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 6, 3, dilation=2, groups=2), nn.InstanceNorm2d(6, affine=True), nn.ELU(), nn.Hardswish(),
            nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), nn.LeakyReLU(0.1), nn.PixelShuffle(1),
            nn.Softplus(), nn.ZeroPad2d((1, 2, 0, 1)), nn.LPPool2d(2, 2), nn.Softshrink(), nn.Flatten(), nn.LazyLinear(3),
        ),
        (2, 2, 15, 13),
    ),
}  # fmt: skip


def stored(name, how, folder):
    torch.manual_seed(3)
    maker, shape = MODELS[name]
    model, x = maker(), torch.randn(*shape)
    if name == "layers":
        model(x)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    if how != "training":
        model.eval()
    script = torch.jit.trace(model, x, strict=False) if how == "traced" else torch.jit.script(model)
    if how == "frozen":
        script = torch.jit.freeze(script)
    if how == "optimized":
        script = torch.jit.optimize_for_inference(script)
    file = folder / f"{name}.pt"
    script.save(str(file))
    loaded = torch.jit.load(str(file)).eval() if how == "training" else torch.jit.load(str(file))
    with torch.no_grad():
        want = loaded(x)
    want = list(want.values()) if isinstance(want, dict) else [want]
    return file, x.numpy(), [y.numpy() for y in want]


CASES = list(itertools.product(MODELS, ("traced", "scripted", "frozen", "training")))
# Tracing a dictionary needs strict=False, which is given; a float argument with a default has no trace.
CASES = [c for c in CASES if not (c[1] == "traced" and c[0] in ("branches", "shallow"))]
CASES = [c for c in CASES if c[0] != "spectral" or c[1] == "traced"]  # its hooks cannot be scripted


@pytest.mark.parametrize("name, how", CASES, ids=[f"{n}-{h}" for n, h in CASES])
def test_the_runtime_gives_the_numbers_of_pytorch(name, how, tmp_path):
    file, x, want = stored(name, how, tmp_path)
    got = run_natively([file], {"x": x} if name not in ("layers", "spectral") else {"input": x}, tmp_path)
    assert_close(got, want, 2e-5, how)


@pytest.mark.parametrize("how", ["traced", "scripted"])
def test_a_port_holds_its_proof(how, tmp_path):
    file, x, _ = stored("residual", how, tmp_path)
    done = convoy("port", file, "--shape", "x=" + ",".join(map(str, x.shape)), "--to", "keras", "-o", tmp_path / "r.keras")
    assert done.returncode == 0, done.stderr


def test_weights_have_their_names(tmp_path):
    file, _, _ = stored("residual", "traced", tmp_path)
    out = tmp_path / "w.npz"
    convoy("weights", file, "-o", out)
    got = np.load(out)
    want = {k: v for k, v in torch.jit.load(str(file)).state_dict().items()}
    assert set(want) == set(got.files)
    for key, tensor in want.items():
        assert np.array_equal(got[key], tensor.numpy()), key


def test_every_schema_is_pytorchs(tmp_path):
    """Every signature that TorchScript is read by against the operators that this PyTorch registers."""
    program = Path(__file__).parents[2] / "build" / "release" / "schemas"
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    assert len(rows) > 300
    known = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            names = [("*" if a.kwarg_only else "") + ("input" if a.name == "self" else a.name) for a in schema.arguments]
            known.setdefault(schema.name[6:], {})[schema.overload_name or "default"] = names
    for name, overload, words, _ in rows:
        want = known[name].get(overload) or known[name][overload + "_hacked_twin"]
        by_place, by_name = ([w for w in words.split() if w.startswith("*") == named] for named in (False, True))
        placed = [w for w in want if not w.startswith("*")]
        assert by_place[: len(placed)] == placed, (name, overload, words, want)
        assert set(want) - set(placed) <= set(by_name), (name, overload, words, want)
