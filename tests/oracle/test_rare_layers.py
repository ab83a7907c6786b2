"""Layers that programs have now and then, with weights of a file and as PyTorch draws them: tables that the program has already, bags of
embeddings, projected states, sequences without a batch."""
import numpy as np
import pytest
import torch
from carrying import assert_close, convoy, run_natively

HEAD = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
NUMBERS, WORDS = (7, 3), (4, 9)

# name -> the shape of the input, what the layer is made of, and what forward() gives.
LAYERS = {
    "table": (WORDS, "self.e = nn.Embedding.from_pretrained(torch.arange(120).reshape(20, 6).float() / 50, freeze=False, padding_idx=0)\n"
                     "        self.c = nn.Conv1d(6, 4, 3)", "self.c(self.e(x).transpose(1, 2))"),
    "drawn_table": (WORDS, "self.e = nn.Embedding.from_pretrained(torch.randn(20, 5))\n        self.l = nn.Linear(5, 2)", "self.l(self.e(x))"),
    "table_by_argument": (WORDS, "self.e = nn.Embedding(20, 5, _weight=torch.randn(20, 5))\n        self.l = nn.Linear(5, 2)", "self.l(self.e(x))"),
    "bag": (WORDS, "self.e = nn.EmbeddingBag(20, 6)", "self.e(x)"),
    "greatest_of_bag": (WORDS, "self.e = nn.EmbeddingBag(20, 6, mode='max')", "self.e(x)"),
    "weighted_bag": (WORDS, "self.e = nn.EmbeddingBag(20, 6, mode='sum')", "self.e(x, per_sample_weights=x.float() / 3)"),
    "projected": ((2, 7, 3), "self.r = nn.LSTM(3, 5, proj_size=2, batch_first=True, num_layers=2, bidirectional=True)",
                  "torch.cat([t.flatten() for t in (self.r(x)[0], *self.r(x)[1])])"),
    "no_batch": (NUMBERS, "self.r = nn.LSTM(3, 5)", "torch.cat([t.flatten() for t in (self.r(x)[0], *self.r(x)[1])])"),
    "no_batch_from": (NUMBERS, "self.r = nn.LSTM(3, 3, num_layers=2)", "self.r(x, (x[:2], x[2:4] * 2))[0]"),
    "no_batch_first": (NUMBERS, "self.r = nn.GRU(3, 5, batch_first=True, bidirectional=True)", "self.r(x)[0] * self.r(x)[1].sum()"),
    "no_batch_by_name": (NUMBERS, "self.r = nn.RNN(3, 3)", "self.r(x, hx=x[1:2])[0]"),
}


@pytest.mark.parametrize("numbers", ["of a file", "drawn"])
@pytest.mark.parametrize("name", list(LAYERS))
def test_as_pytorch_computes_them(name, numbers, tmp_path):
    shape, build, forward = LAYERS[name]
    text = f"{HEAD}        {build}\n\n    def forward(self, x):\n        return {forward}\n"
    (tmp_path / "net.py").write_text(text)
    names = {}
    exec(text, names)  # noqa: S102
    torch.manual_seed(5)
    net = names["Net"]().eval()
    options = ["--seed", "5"]
    if numbers == "of a file":
        torch.save({key: value * 0.7 for key, value in net.state_dict().items()}, tmp_path / "w.pt")
        net.load_state_dict(torch.load(tmp_path / "w.pt"))
        options = ["--weights", tmp_path / "w.pt"]
    random = np.random.default_rng(1)
    x = random.integers(0, 20, shape) if shape == WORDS else random.normal(size=shape).astype("float32")
    with torch.no_grad():
        want = net(torch.from_numpy(x)).numpy()
    assert_close(run_natively([f"{tmp_path / 'net.py'}:Net"], {"x": x}, tmp_path, *options), [want], what=name)


def test_bags_of_unlike_lengths_are_refused(tmp_path):
    (tmp_path / "net.py").write_text(
        f"{HEAD}        self.e = nn.EmbeddingBag(20, 6)\n\n    def forward(self, x):\n        return self.e(x.flatten(), torch.tensor([0, 4]))\n"
    )
    refused = convoy("summary", f"{tmp_path / 'net.py'}:Net", "--shape", "2,9:int64", code=6).stderr
    assert "nn.EmbeddingBag of bags of unlike lengths is not carried" in refused
