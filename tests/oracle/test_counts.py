"""What `convoy summary` counts in source, against sum(p.numel() for p in model.parameters()) and Keras's count_params()."""
import re

import numpy as np
import pytest
from carrying import convoy

# name: (shape of the input, text). The last module that is bound is the model, or `Net`.
PROGRAMS = {
    "weight_norm": ("1,3,9", """
from torch.nn.utils import weight_norm
from torch.nn.utils.parametrizations import weight_norm as new_weight_norm
net = nn.Sequential(weight_norm(nn.Conv1d(3, 4, 3)), nn.ReLU(), new_weight_norm(nn.Conv1d(4, 5, 2), dim=1), weight_norm(nn.Conv1d(5, 6, 1), dim=None),
                    new_weight_norm(nn.ConvTranspose1d(6, 7, 2), name="weight", dim=-2))
"""),
    "weight_norm_copied": ("2,6", """
import copy
one = nn.utils.parametrizations.weight_norm(nn.Linear(6, 6))
net = nn.Sequential(one, copy.deepcopy(one), nn.ReLU(), one)
"""),
    "weight_norm_removed": ("2,6", """
gone = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(6, 5)))
kept = nn.utils.parametrizations.weight_norm(nn.Linear(5, 4))
net = nn.Sequential(gone, kept)
"""),
    "spectral_norm": ("1,3,8,8", """
from torch.nn.utils import spectral_norm
net = nn.Sequential(spectral_norm(nn.Conv2d(3, 4, 3)), nn.utils.parametrizations.spectral_norm(nn.Conv2d(4, 2, 1)))
"""),
    "projection": ("1,64,20", """
class Net(nn.Module):
    def __init__(self, c1=16):
        super().__init__()
        self.conv = nn.Conv2d(c1, 1, 1, bias=False).requires_grad_(False)
        x = torch.arange(c1, dtype=torch.float)
        self.conv.weight.data[:] = nn.Parameter(x.view(1, c1, 1, 1))
        self.last = nn.Conv1d(4, 3, 1)
        self.c1, self.stride = c1, torch.zeros(3)
    def forward(self, x):
        b, _, a = x.shape
        y = self.conv(x.view(b, 4, self.c1, a).transpose(2, 1).softmax(1)).view(b, 4, a)
        return self.last(y) + torch.arange(20.0)
"""),
    "turned": ("2,4", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(5, 4))
        self.v = nn.Parameter(torch.randn(5, 3, 2))
        self.f = nn.Parameter(torch.randn(7, 6), requires_grad=False)
        self.b = nn.Bilinear(7, 7, 3)
    def forward(self, x):
        y = ((x @ self.w.t()) @ self.v.permute(0, 2, 1).reshape(5, 6)) @ self.f.T
        return self.b(y, y)
"""),
    "tied": ("2,5", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 4, padding_idx=0)
        self.head = nn.Linear(4, 11, bias=False)
        self.head.weight = self.table.weight
        self.other = nn.Parameter(torch.randn(4, 4))
    def forward(self, ids):
        y = self.head(self.table(ids.long()) @ self.other)
        return (y @ self.table.weight) @ self.other.t()
"""),
    "lists": ("2,4", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.ps = nn.ParameterList([nn.Parameter(torch.randn(4, 4)) for _ in range(3)])
        self.d = nn.ParameterDict({'a': nn.Parameter(torch.ones(4)), 'b': nn.Parameter(torch.zeros(4), requires_grad=False)})
        self.register_buffer('kept', torch.ones(4))
        self.register_buffer('left', torch.ones(1, 4), persistent=False)
        self.register_parameter('none', None)
    def forward(self, x):
        for p in self.ps:
            x = x @ p
        return x * self.d['a'] + self.d['b'] + self.kept * self.left + 0.5
"""),
    "norms": ("1,3,8,8", """
net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6, affine=False), nn.BatchNorm2d(6), nn.PReLU(6), nn.PReLU(), nn.GroupNorm(2, 6),
                    nn.InstanceNorm2d(6, affine=True), nn.GroupNorm(3, 6, affine=False), nn.LayerNorm(6), nn.LayerNorm(6, bias=False))
"""),
    "recurrent": ("2,7,5", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.LSTM(5, 6, 2, batch_first=True, bidirectional=True)
        self.b = nn.GRU(12, 4, batch_first=True, bidirectional=True, bias=False)
        self.c = nn.MultiheadAttention(8, 2, batch_first=True)
        self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 10, batch_first=True), 2)
        self.cell = nn.LSTMCell(8, 3)
    def forward(self, x):
        x = self.b(self.a(x)[0])[0]
        return self.cell(self.t(self.c(x, x, x)[0])[:, 0])[0]
"""),
    "frozen": ("1,3,8,8", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 4, 3)
        for p in self.a.parameters():
            p.requires_grad = False
        self.b = nn.Conv2d(4, 2, 1)
        self.b.bias.requires_grad_(False)
    def forward(self, x):
        return self.b(self.a(x))
"""),
    "unused": ("1,4", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 7)
        self.all = nn.ModuleList([self.a] * 3)
    def forward(self, x):
        for m in self.all:
            x = m(x)
        return x
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(PROGRAMS))
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_pytorchs_parameters_are_counted(name, tmp_path):
    torch = pytest.importorskip("torch")
    shape, text = PROGRAMS[name]
    scope = {"torch": torch, "nn": torch.nn, "__name__": "snippet"}
    exec(text, scope)
    bound = [v for v in scope.values() if isinstance(v, torch.nn.Module)]
    want = sum(p.numel() for p in (bound[-1] if bound else scope["Net"]()).parameters())
    (tmp_path / "net.py").write_text("import torch\nfrom torch import nn\n" + text)
    said = convoy("summary", tmp_path / "net.py", "--shape", f"{'ids' if name == 'tied' else 'x'}={shape}").stdout
    trained = int(re.search(r"\(([\d,]+) trainable", said)[1].replace(",", ""))
    noted = re.search(r"^note    parameters\(\) of PyTorch counts (\d+)", said, re.M)
    # Said where it is not what trains, and only there.
    assert (int(noted[1]) if noted else trained) == want and (noted is None) == (trained == want), said


def test_a_weight_in_another_order_stays_a_parameter(tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "net.py").write_text("import torch\nfrom torch import nn\n" + PROGRAMS["turned"][1])
    convoy("port", tmp_path / "net.py", "--shape", "x=2,4", "--seed", "1", "--to", "torch", "-o", tmp_path / "ported.py", "--no-proof")
    scope = {"__name__": "ported", "__file__": str(tmp_path / "ported.py")}
    exec((tmp_path / "ported.py").read_text(), scope)
    made = [v for v in scope.values() if isinstance(v, type) and issubclass(v, torch.nn.Module) and v is not torch.nn.Module]
    count = sum(p.numel() for p in made[-1]().parameters() if p.requires_grad)
    assert count == 5 * 4 + 5 * 3 * 2 + (7 * 7 * 3 + 3), count


KERAS = {
    "shared": """
i = keras.Input((8, 6))
dense, norm = layers.Dense(6), layers.BatchNormalization()
model = keras.Model(i, dense(norm(dense(norm(i)))))
""",
    "recurrent": """
model = keras.Sequential([keras.Input((7, 5)), layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
                          layers.Bidirectional(layers.GRU(3, return_sequences=True, reset_after=False), merge_mode='sum'),
                          layers.GRU(4, return_sequences=True), layers.TimeDistributed(layers.Dense(3)),
                          layers.LayerNormalization(scale=False), layers.LayerNormalization(center=False), layers.SimpleRNN(3, use_bias=False)])
""",
    "convolutions": """
model = keras.Sequential([keras.Input((12, 12, 3)), layers.SeparableConv2D(4, 3, depth_multiplier=2), layers.BatchNormalization(scale=False),
                          layers.DepthwiseConv2D(3), layers.BatchNormalization(center=False), layers.PReLU(shared_axes=[1, 2]), layers.PReLU(),
                          layers.Conv2DTranspose(3, 2), layers.GroupNormalization(3), layers.UnitNormalization()])
""",
    "frozen": """
base = keras.Sequential([keras.Input((8,)), layers.Dense(4), layers.BatchNormalization()])
base.trainable = False
model = keras.Sequential([keras.Input((8,)), base, layers.Dense(3), layers.Dense(2, trainable=False)])
""",
    "attention": """
i = keras.Input((5,))
x = layers.Embedding(11, 4)(i)
x = layers.Attention(use_scale=True)([x, x])
x = layers.AdditiveAttention()([x, x])
model = keras.Model(i, layers.EinsumDense('abc,cd->abd', output_shape=(None, 7), bias_axes='d')(x))
""",
    "own": """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.b = layers.Dense(4), layers.BatchNormalization(), layers.Dense(3, use_bias=False)
        self.w = self.add_weight(shape=(3,), initializer='ones', trainable=False)
    def call(self, x):
        return self.b(self.n(self.a(x))) * self.w
model = Net()
""",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(KERAS))
def test_count_params_of_keras(name, tmp_path):
    keras = pytest.importorskip("keras")
    keras.backend.clear_session()
    text = "import keras\nfrom keras import layers\n" + KERAS[name]
    scope = {}
    exec(text, scope)
    model = scope["model"]
    if name == "own":
        model(np.zeros((2, 8), np.float32))
    trained = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
    (tmp_path / "net.py").write_text(text)
    more = ["--shape", "2,8"] if name == "own" else []
    said = convoy("summary", f"{tmp_path / 'net.py'}:model", *more).stdout
    assert f"{model.count_params():,} parameters ({trained:,} trainable" in said, said
