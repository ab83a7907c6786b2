"""Parameters and buffers that a program draws, or computes of what it draws: PyTorch builds each module, and convoy follows it
with a seed and with a file of weights. Plain attributes are in no file: what is drawn into them is refused."""
import numpy as np
import pytest
import torch
from carrying import assert_close, convoy, run_natively

HEAD = '''import numpy as np
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, (5, 4))
'''
FORWARD = '''
        self.fc = nn.Linear(3, 4)

    def forward(self, x):
        return self.fc(self.conv(x).mean((2, 3)) * self.b)
'''
RANDOM = "random numbers"
LOST = "drawn where nobody can follow"
EARLY = "computed from weights while the module was built"

# What the program says; the part of the error with a seed, and with a file: "" where the numbers agree.
CASES = {
    "a buffer": ("self.register_buffer('b', torch.randn(3))", "", ""),
    "a buffer times a number": ("self.register_buffer('b', torch.randn(3) * 10)", "", ""),
    "a buffer of the program alone": ("self.register_buffer('b', torch.rand(3), persistent=False)", "", RANDOM),
    "a computed one of the program alone":
        ("self.register_buffer('b', 1 + torch.rand(3), persistent=False)", "", RANDOM),
    "an attribute": ("self.b = torch.randn(3)", RANDOM, RANDOM),
    "an attribute that is computed": ("self.b = torch.randn(3) * 10", RANDOM, RANDOM),
    "an attribute that is copied": ("self.b = torch.randn(3).clone()", RANDOM, RANDOM),
    "a parameter that is copied": ("self.b = nn.Parameter(torch.randn(3).clone())", "", ""),
    "a parameter of unit length": ("w = torch.randn(3); self.b = nn.Parameter(w / w.norm())", "", ""),
    "a view of numbers filled in place": ("w = torch.empty(3); w.normal_(0, 2); self.b = nn.Parameter(w.view(3))", "", ""),
    "stacked": ("self.b = nn.Parameter(torch.stack([torch.rand(()), torch.ones(()), torch.rand(())]))", "", ""),
    "compared": ("self.register_buffer('b', (torch.rand(3) > 0.5).float())", "", ""),
    "whole numbers": ("self.register_buffer('b', torch.randint(2, 9, (3,)).float())", "", ""),
    "a permutation": ("self.register_buffer('b', torch.randperm(40)[:3].float())", "", ""),
    "numbers in the order of a permutation":
        ("self.register_buffer('b', torch.tensor([1., 2., 3.])[torch.randperm(3)])", "", ""),
    "whole numbers that are far apart": ("self.b = nn.Parameter(torch.randint(0, 2 ** 40, (3,)).float())", LOST, ""),
    "numpy's": ("self.b = nn.Parameter(torch.from_numpy(np.random.randn(3)).float())", LOST, ""),
    "of numpy's, which nothing reads": ("noise = np.random.randn(3); self.b = nn.Parameter(torch.ones(3))", "", ""),
    "a generator's": ("g = torch.Generator().manual_seed(3); self.b = nn.Parameter(torch.rand(3, generator=g))", LOST, ""),
    "a generator's, which nothing reads":
        ("noise = torch.rand(3, generator=torch.Generator()); self.b = nn.Parameter(torch.ones(3))", "", ""),
    "of a weight": ("self.register_buffer('b', self.conv.bias.detach() * 10)", "", ""),
    "of a weight that is filled anew behind it":
        ("self.register_buffer('b', self.conv.bias.detach() * 10); nn.init.zeros_(self.conv.bias)", "", ""),
    "of what a weight was": ("w = self.conv.bias.detach() * 10; nn.init.zeros_(self.conv.bias); self.b = nn.Parameter(w)",
                             "changed behind it", ""),
    "of a weight, and of the program alone":
        ("self.register_buffer('b', self.conv.bias.detach() * 10, persistent=False)", "", RANDOM),
    "of a weight, as an attribute": ("self.b = self.conv.bias.detach() * 10", EARLY, EARLY),
    "a weight made anew of itself": ("self.conv.bias = nn.Parameter(self.conv.bias * 2); self.b = nn.Parameter(torch.ones(3))",
                                     "", ""),
    "a buffer set anew": ("self.register_buffer('b', torch.tensor([1., 2., 3.])); self.b = self.b * 2", "", ""),
    "a drawn buffer set anew":
        ("self.register_buffer('b', torch.randn(3)); self.b = self.b / self.b.norm()", "", ""),
    "a buffer that was None": ("self.register_buffer('b', None); self.b = torch.tensor([1., 0.5, 2.])", "", ""),
    "nn.Buffer": ("self.b = nn.Buffer(torch.randn(3) * 2)", "", ""),
    "nn.Buffer of the program alone": ("self.b = nn.Buffer(torch.ones(3) * 2, persistent=False)", "", ""),
    "a convolution that keeps its input": ("nn.init.dirac_(self.conv.weight); self.b = nn.Parameter(torch.ones(3))", "", ""),
    "one that keeps it by groups": ("c = nn.Conv1d(3, 4, 6); nn.init.dirac_(c.weight, 2); self.b = nn.Parameter(c.weight[0, :, 3])",
                                    "", ""),
    "the identity": ("self.b = nn.Parameter(torch.ones(3)); self.fc2 = nn.Linear(5, 3); nn.init.eye_(self.fc2.weight)", "", ""),
    "what nobody follows": ("nn.init.sparse_(nn.Linear(4, 5).weight, 0.5); self.b = nn.Parameter(torch.ones(3))",
                            "drawn behind", ""),
    "a weight of a generator": ("nn.init.normal_(self.conv.bias, generator=torch.Generator()); self.b = nn.Parameter(torch.ones(3))",
                                "are changed by nn.init.normal_()", ""),
    "a tensor that is changed behind its parameter": ("w = torch.ones(3); self.b = nn.Parameter(w); w[0] = 9", "another view", ""),
    "a tensor that two parameters hold":
        ("w = torch.rand(3); self.b = nn.Parameter(w); self.c = nn.Parameter(w); nn.init.zeros_(self.c)", "another view", ""),
    "a tensor that a parameter holds": ("w = torch.rand(3); self.b = nn.Parameter(w); self.c = nn.Parameter(w + 1)", "", ""),
    "a buffer that is a weight": ("self.register_buffer('b', self.conv.bias.data); self.b.fill_(1)", "", ""),
    "a view of a buffer": ("w = torch.tensor([1., 2., 3.]); self.register_buffer('b', w);"
                           "self.register_buffer('c', w.clone().view(1, 3))", "", ""),
    "a copy of a weight": ("self.b = nn.Parameter(self.conv.bias.clone()); nn.init.zeros_(self.conv.bias)", "", ""),
    "a weight under two names": ("self.b = nn.Parameter(self.conv.bias.detach()); nn.init.ones_(self.conv.bias)", "", ""),
    "a copy of a weight as an attribute": ("self.b = self.conv.bias.clone()", "", "in no file"),
    "a weight that turned": ("self.w = nn.Linear(3, 1); self.b = self.w.weight.t()[:, 0]", EARLY, EARLY),
    "a layer in a list": ("self.l = [nn.Linear(2, 3)]; self.b = nn.Parameter(torch.ones(3)); self.forward = lambda x: self.l[0](x[..., 0, :2])",
                          "", "in no file"),
    "a filled layer in a list": ("self.l = [nn.Linear(2, 3)]; nn.init.ones_(self.l[0].weight); nn.init.zeros_(self.l[0].bias);"
                                 "self.b = nn.Parameter(torch.ones(3)); self.forward = lambda x: self.l[0](x[..., 0, :2])", "", ""),
    "a norm in a list": ("self.l = [nn.BatchNorm2d(2)]; self.b = nn.Parameter(torch.ones(3)); self.forward = lambda x: self.l[0](x)",
                         "is in training", "is in training"),
    "a layer made in forward": ("self.b = nn.Parameter(torch.ones(3)); self.forward = lambda x: nn.Linear(8, 2)(x)",
                                "made in forward", "made in forward"),
    "a dropout made in forward": ("self.b = nn.Parameter(torch.ones(3)); self.forward = lambda x: nn.Dropout(0.5)(x)",
                                  "is in training", "is in training"),
    "a norm of no weights made in forward": ("self.b = nn.Parameter(torch.ones(3)); self.forward = lambda x: nn.LayerNorm(8)(x)", "", ""),
    "numbers that the program loads": ("self.b = nn.Parameter(torch.ones(3)); self.conv.load_state_dict({'weight': torch.ones(3, 2, 5, 4), "
                                       "'bias': torch.zeros(3)})", "", ""),
    "divided by a norm": ("nn.utils.spectral_norm(self.conv); self.b = nn.Parameter(torch.ones(3))", "spectral_norm()", ""),
    "a number": ("self.n = torch.randint(1, 4, (1,)).item(); self.b = nn.Parameter(torch.ones(3) * self.n)", RANDOM, RANDOM),
}


def built(case: str, seed: int):
    text = HEAD + "".join(f"        {line.strip()}\n" for line in CASES[case][0].split(";")) + FORWARD
    names = {}
    torch.manual_seed(seed)
    exec(text, names)  # noqa: S102
    return text, names["Net"]().eval()


def expect(source, folder, x, model, said: str, *options):
    if said:
        done = convoy("run", f"{source}:Net", "--input", folder / "x.npy", *options, code=6)
        assert said in done.stderr, done.stderr
        return
    with torch.no_grad():
        want = model(torch.from_numpy(x)).numpy()
    assert_close(run_natively([f"{source}:Net"], {"x": x}, folder, *options), [want])


@pytest.mark.parametrize("case", CASES)
def test_what_a_program_draws(case, tmp_path):
    _, with_seed, with_file = CASES[case]
    text, drawn = built(case, 5)
    source = tmp_path / "net.py"
    source.write_text(text)
    x = np.random.default_rng(1).integers(-3, 4, (2, 2, 9, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    expect(source, tmp_path, x, drawn, with_seed, "--seed", "5")
    _, other = built(case, 77)
    state = {name: numbers + 1 if numbers.is_floating_point() else numbers for name, numbers in other.state_dict().items()}
    torch.save(state, tmp_path / "w.pt")
    if not with_file:
        other.load_state_dict(state)
    expect(source, tmp_path, x, other, with_file, "--weights", tmp_path / "w.pt")


KERAS = '''import keras
import numpy as np
from keras import layers

def of_the_program(shape, dtype=None):
    return keras.random.normal(shape, seed=3) * 2

x = keras.Input((7, 2))
model = keras.Model(x, layers.Dense(3, {argument})(x))
'''


@pytest.mark.parametrize("argument, said", [
    ("kernel_initializer=keras.initializers.Constant(np.array([[1., 2., 3.], [4., 5., 7.]]))", ""),
    ("bias_initializer=keras.initializers.Constant([1, 2, 3])", ""),
    ("kernel_initializer=keras.initializers.Constant(2)", ""),
    ("kernel_initializer=keras.initializers.Constant([1, 2])", "in another shape than the weight's"),
    ("kernel_initializer=of_the_program", "give the weights with --weights"),
    ("bias_initializer=lambda shape, dtype=None: 1", "give the weights with --weights"),
    ("kernel_initializer=keras.initializers.RandomNormal(stddev=[1, 2])", "'stddev' that is no number"),
])
def test_initialisers_of_keras(argument, said, tmp_path):
    text = KERAS.format(argument=argument)
    (tmp_path / "net.py").write_text(text)
    x = np.random.default_rng(1).integers(-3, 4, (2, 7, 2)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    if said:
        done = convoy("run", tmp_path / "net.py", "--input", tmp_path / "x.npy", "--seed", "4", code=None)
        assert done.returncode in (5, 6) and said in done.stderr, done.stderr
        return
    import keras

    names = {}
    keras.utils.set_random_seed(4)
    exec(text, names)  # noqa: S102
    assert_close(run_natively([tmp_path / "net.py"], {"x": x}, tmp_path, "--seed", "4"), [names["model"](x).numpy()])


OWN_TRAIN = """import torch
import torch.nn as nn

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.times = 1.0

    def train(self, mode=True):
        super().train(mode)
        self.times = 2.0 if mode else 5.0
        return self

    def forward(self, x):
        return self.fc(x) * self.times

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.norm = Scaled(), nn.BatchNorm1d(4)

    def train(self, mode=True):
        super().train(mode)
        self.inner.times += 0.5
        %s
        return self

    def forward(self, x):
        return self.norm(self.inner(x))
"""


@pytest.mark.parametrize("line, said", [("pass", ""), ("self.norm.train()", "is in training"), ("self.norm.train(False)", "")])
def test_a_model_that_has_a_train_of_its_own(line, said, tmp_path):
    text = OWN_TRAIN % line.replace("train()", "train(True)")
    names = {}
    torch.manual_seed(5)
    exec(text, names)  # noqa: S102
    (tmp_path / "net.py").write_text(text)
    x = np.random.default_rng(1).integers(-3, 4, (2, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    expect(tmp_path / "net.py", tmp_path, x, names["Net"]().eval(), said, "--seed", "5")


# What PyTorch's layers call of themselves, as a subclass defines it.
OWN_METHODS = {
    "reset_parameters": """
class Mine(nn.Linear):
    def reset_parameters(self):
        nn.init.normal_(self.weight, 0, 2)
        nn.init.constant_(self.bias, 2)
net = nn.Sequential(Mine(6, 4), nn.Linear(4, 3))""",
    "reset_parameters of PyTorch's": """
class Mine(nn.LayerNorm):
    def reset_parameters(self):
        super().reset_parameters()
        nn.init.constant_(self.bias, 0.5)
net = nn.Sequential(nn.Linear(6, 4), Mine(4), nn.Linear(4, 3))""",
    "reset_parameters before its own weights": """
class Noisy(nn.Linear):
    def __init__(self, i, o):
        super().__init__(i, o)
        self.sigma = nn.Parameter(torch.full((o, i), 0.017))
        self.reset_parameters()
    def reset_parameters(self):
        super().reset_parameters()
        if hasattr(self, 'sigma'):
            nn.init.uniform_(self.weight, -1, 1)
            nn.init.constant_(self.sigma, 0.5)
    def forward(self, x):
        return nn.functional.linear(x, self.weight + self.sigma, self.bias)
net = nn.Sequential(Noisy(6, 4), nn.Linear(4, 3))""",
    "_conv_forward": """
class Mine(nn.Conv1d):
    def _conv_forward(self, input, weight, bias):
        return super()._conv_forward(input, weight * 2 - weight.mean(), bias)
net = nn.Sequential(Mine(5, 4, 3, padding=1), nn.Conv1d(4, 2, 2))""",
    "__iter__ of a Sequential": """
class Turned(nn.Sequential):
    def __iter__(self):
        return reversed(list(self._modules.values()))
net = nn.Sequential(Turned(nn.Linear(4, 3), nn.ReLU(), nn.Linear(6, 4)), nn.Linear(3, 2))""",
    "each of parameters() once": """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 2)
        self.b.weight = self.a.weight
        for weight in self.parameters():
            nn.init.normal_(weight, 0, 0.5)
    def forward(self, x):
        first = next(self.parameters())
        return self.c(self.b(self.a(x.to(first.device, first.dtype)))) + first.mean()
net = Tied()""",
    "_ff_block": """
class Mine(nn.TransformerEncoderLayer):
    def _ff_block(self, x):
        return self.linear2(torch.tanh(self.linear1(x))) * 3
net = Mine(6, 2, 8)""",
}


@pytest.mark.parametrize("case", OWN_METHODS)
def test_what_layers_call_of_themselves(case, tmp_path):
    text = "import torch\nimport torch.nn as nn\n" + OWN_METHODS[case] + "\n"
    (tmp_path / "net.py").write_text(text)
    names = {}
    torch.manual_seed(5)
    exec(text, names)  # noqa: S102
    x = np.random.default_rng(1).integers(-3, 4, (2, 5, 6)).astype(np.float32)
    with torch.no_grad():
        want = names["net"].eval()(torch.from_numpy(x)).numpy()
    assert_close(run_natively([f"{tmp_path / 'net.py'}:net"], {"x": x}, tmp_path, "--seed", "5"), [want])
