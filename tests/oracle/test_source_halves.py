"""PyTorch source with parameters of 16 bits: by the layers' own argument, by a cast of the module, as tensors; with files of other types."""
import importlib.util

import numpy as np
import pytest
import torch
from carrying import convoy

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
