"""PyTorch source with parameters of 16 bits: by the layers' own argument, by a cast of the module, as tensors; with files of other types."""
import importlib.util

import numpy as np
import pytest
import torch
from carrying import convoy, run_natively

LAYERS = {
    "parameter": ("self.g = nn.Parameter(torch.ones(3, dtype=torch.float16) * 0.3)", "x * self.g", "float16"),
    "drawn_then_cast": ("self.g = nn.Parameter(torch.randn(3).half())", "x * self.g", "float16"),
    "linear": ("self.a = nn.Linear(3, 5, dtype=torch.bfloat16)", "self.a(x)", "bfloat16"),
    "embedding": ("self.e = nn.Embedding(7, 4, dtype=torch.float16)", "self.e(x)", "int64"),
    "lstm": ("self.r = nn.LSTM(3, 5, dtype=torch.float16)", "self.r(x.unsqueeze(0))[0]", "float16"),
    "half": ("self.a, self.n = nn.Linear(3, 5), nn.BatchNorm1d(5)\n        self.half()", "self.n(self.a(x))", "float16"),
    "to": ("self.a = nn.Linear(3, 5).to(torch.bfloat16)", "self.a(x)", "bfloat16"),
    "to_by_word": ("self.a = nn.Linear(3, 5).to('cpu', dtype=torch.bfloat16)", "self.a(x)", "bfloat16"),
    "and_back": ("self.a = nn.Linear(3, 5).half().float()", "self.a(x)", "float32"),
    "buffer": (
        "self.register_buffer('k', torch.tensor([1.1, 2.2, 3.3]), persistent=False)\n        self.half()",
        "x * self.k",
        "float16",
    ),
    "tied": (
        "self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)\n        self.b.weight = self.a.weight\n        self.bfloat16()",
        "self.b(self.a(x))",
        "bfloat16",
    ),
}
DRAWN_BY_OTHER_RULES = {"linear", "embedding", "lstm"}  # PyTorch draws 16 bits from other digits


def net(name, folder):
    build, forward, dtype = LAYERS[name]
    file = folder / "net.py"
    file.write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {build}\n\n    def forward(self, x):\n        return {forward}\n"
    )
    spec = importlib.util.spec_from_file_location("net_of_halves", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module.Net().eval(), dtype


@pytest.mark.parametrize("stored", ["drawn", "own", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", list(LAYERS))
def test_weights_have_the_type_that_the_source_gives_them(name, stored, tmp_path):
    if stored == "drawn" and name in DRAWN_BY_OTHER_RULES:
        pytest.skip("refused by name")
    model, dtype = net(name, tmp_path)
    options = []
    if stored != "drawn":
        # Numbers that 16 bits do not hold, which load_state_dict rounds into the parameter's own type.
        kept = {key: value * 1.001 if value.is_floating_point() else value for key, value in model.state_dict().items()}
        if stored != "own":
            kept = {
                key: (value.float() * 1.0003).to(getattr(torch, stored)) if value.is_floating_point() else value
                for key, value in kept.items()
            }
        torch.save(kept, tmp_path / "net.pt")
        model.load_state_dict(kept)
        options = ["--weights", tmp_path / "net.pt"]
    x = torch.tensor([[1, 4, 6], [0, 2, 5]])
    if dtype != "int64":
        x = (x / 7 - 0.4).to(getattr(torch, dtype))
    np.save(tmp_path / "x.npy", x.numpy() if dtype == "int64" else x.float().numpy())
    source = [f"{tmp_path / 'net.py'}:Net", "--shape", f"2,3:{dtype}", *options]
    convoy("run", *source, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    with torch.no_grad():
        wanted = model(x).float().numpy()
    got = np.load(tmp_path / "y.npy").astype("float32")
    if dtype == "float32":
        np.testing.assert_allclose(got, wanted, atol=2e-7)
    else:
        np.testing.assert_array_equal(got, wanted)
    convoy("port", *source, "-o", tmp_path / "port.py")


def test_a_type_that_no_weight_has_is_refused(tmp_path):
    model = tmp_path / "net.py"
    model.write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(3, 5).to(torch.int8)\n\n    def forward(self, x):\n        return self.a(x)\n"
    )
    refused = convoy("summary", f"{model}:Net", "--shape", "2,3", code=6).stderr
    assert ".to() of a module asks for 'int8'; float16, bfloat16, float32 and float64 are carried" in refused


# Numbers that a half type does not have stay float32 in PyTorch's kernels, which round once.
BY_NUMBERS = ["h * 1.1", "1.1 * h", "h / 3.3", "1.7 / h", "h - 0.3", "0.1 - h", "h ** 1.3", "h % 0.3", "torch.add(h, g, alpha=1.3)", "torch.sub(h, g, alpha=0.7)",
              "torch.rsub(h, g, alpha=0.7)", "torch.addcmul(h, g, h, value=0.1)", "h.addcdiv(g, h, value=0.3)", "torch.lerp(h, g, 0.3)", "torch.lerp(h, g, 0.8)",
              "torch.lerp(h, g, g)", "h.mul(0.1).add(0.7)", "h.clone().mul_(1.1)", "h.clone().addcmul_(g, g, value=0.3)", "torch.clamp(h, -0.1, 0.7)",
              "torch.add(h, 1.3, alpha=0.7)", "torch.sub(h, 1.3, alpha=0.7)", "torch.rsub(h, 1.3, alpha=0.7)", "torch.add(h, 1.3)"]


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_numbers_beside_halves(half, tmp_path):
    # Whole vectors: what is left over is rounded otherwise by the kernels of alpha.
    lines = "".join(f", ({one}).float()" for one in BY_NUMBERS)[2:]
    text = f"import torch\nimport torch.nn as nn\nclass Net(nn.Module):\n    def forward(self, x):\n        h, g = x.to(torch.{half}), (x * 0.7 - 1).to(torch.{half})\n        return {lines}\n"
    names = {}
    exec(text, names)  # noqa: S102
    x = np.abs(np.random.default_rng(1).normal(size=(64, 32))).astype(np.float32) + 0.1
    (tmp_path / "net.py").write_text(text)
    net = names["Net"]()
    torch.export.save(torch.export.export(net, (torch.from_numpy(x),)), tmp_path / "net.pt2")
    want = [y.numpy() for y in net(torch.from_numpy(x))]
    for source in (f"{tmp_path / 'net.py'}:Net", tmp_path / "net.pt2"):
        got = run_natively([source], {"x": x}, tmp_path)
        unlike = {one: int(((a != b) & ~np.isnan(a)).sum()) for one, a, b in zip(BY_NUMBERS, want, got, strict=True)}
        unlike = {one: n for one, n in unlike.items() if n > 16 * ("lerp(h, g, 0" in one)}  # which sums as fused
        assert not unlike, (source, unlike)
