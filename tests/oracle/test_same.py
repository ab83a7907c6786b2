"""`same` means the same: pairs that differ where ordinary numbers do not reach or rounding would cover it, and pairs that are
equal however they are written. Both models of a pair are exported by PyTorch, or saved by Keras."""
import copy
import subprocess

import pytest
from carrying import CONVOY

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def exported(model, x, file):
    torch.export.save(torch.export.export(model.eval(), (x,)), file)
    return file


def said(tmp_path, a, b, x):
    files = exported(a, x, tmp_path / "a.pt2"), exported(b, x, tmp_path / "b.pt2")
    done = subprocess.run([str(CONVOY), "diff", *map(str, files)], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


class Between(nn.Module):
    """A function, alone on the input or behind a convolution."""

    def __init__(self, f, behind):
        super().__init__()
        torch.manual_seed(3)
        self.f, self.before, self.after = f, nn.Conv2d(3, 4, 3) if behind else nn.Identity(), nn.Conv2d(4 if behind else 3, 2, 1)

    def forward(self, x):
        return self.after(self.f(self.before(x)))


LIMITS = {
    "clamp": (F.relu, lambda x: torch.clamp(x, 0, 50)),
    "clamp far": (F.relu, lambda x: torch.clamp(x, 0, 1e4)),
    "where": (lambda x: x * 2, lambda x: torch.where(x > 100, x * 3, x * 2)),
    "where below": (lambda x: x * 2, lambda x: torch.where(x < -500, torch.zeros_like(x), x * 2)),
    "minimum": (lambda x: x / 255, lambda x: torch.minimum(x, torch.tensor(255.0)) / 255),
    "threshold near zero": (F.relu, lambda x: F.threshold(x, 1e-4, 0.0)),
    "comparison": (lambda x: x + (x > 200).float(), lambda x: x + (x > 300).float()),
    "hard swish": (F.hardswish, lambda x: x * torch.clamp(x + 3, 0, 6) / 6 * torch.where(x > 90, 1.1, 1.0)),
    "epsilon of a layer norm": (lambda x: F.layer_norm(x * 30, x.shape[1:]), lambda x: F.layer_norm(x * 30, x.shape[1:], eps=1e-6)),
    "epsilon of a group norm": (lambda x: F.group_norm(x * 9, 1, eps=1e-5), lambda x: F.group_norm(x * 9, 1, eps=2e-5)),
    "a half, rounded": (torch.round, lambda x: torch.floor(x + torch.tensor([0.5]))),
    "the limit itself": (lambda x: torch.where(x >= 0.5, x * 2, x), lambda x: torch.where(x > 0.5, x * 2, x)),
    "zero itself": (torch.sign, lambda x: torch.where(x > 0, 1.0, -1.0)),
    "one number": (lambda x: torch.where(x == 7.25, x * 2, x), lambda x: x * 1.0),
    "a remainder": (lambda x: torch.fmod(x, 1e6), lambda x: x * 1.0),
    "a third operand": (lambda x: torch.maximum(x, x.flip(1)), lambda x: torch.maximum(torch.maximum(x, x.flip(1)), -x - 20)),
    "relu in front of wide windows": (lambda x: F.max_pool2d(F.relu(x), 4, 4, ceil_mode=True),
                                      lambda x: F.max_pool2d(x, 4, 4, ceil_mode=True)),
    "relu in front of all": (lambda x: F.relu(x).amax((2, 3), keepdim=True), lambda x: x.amax((2, 3), keepdim=True)),
    "all that are largest": (lambda x: (x >= x.amax(1, keepdim=True)).float(),
                             lambda x: F.one_hot(x.argmax(1), x.shape[1]).movedim(3, 1).float()),
    "two functions": (lambda x: F.leaky_relu(x, 0.1), lambda x: torch.where(x > -64, F.leaky_relu(x, 0.1), x * 0.2)),
}


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("name", LIMITS)
def test_limits_that_ordinary_numbers_do_not_reach(name, behind, tmp_path):
    a, b = (Between(f, behind) for f in LIMITS[name])
    code, text = said(tmp_path, a, b, torch.randn(1, 3, 9, 11))
    assert code == 1, text


EQUAL = {
    "clamp": (F.relu, lambda x: torch.clamp(x, min=0)),
    "where": (F.relu, lambda x: torch.where(x > 0, x, torch.zeros_like(x))),
    "twice": (F.relu, lambda x: F.relu(F.relu(x))),
    "mean of itself and its size": (F.relu, lambda x: (x + torch.abs(x)) / 2),
    "hard swish": (F.hardswish, lambda x: x * F.relu6(x + 3) / 6),
    "gelu": (F.gelu, lambda x: x * 0.5 * (1 + torch.erf(x / 2**0.5))),
    "leaky": (lambda x: F.leaky_relu(x, 0.1), lambda x: torch.maximum(x, 0.1 * x)),
    "softplus": (F.softplus, lambda x: torch.log1p(torch.exp(-torch.abs(x))) + torch.relu(x)),
    "softmax": (lambda x: F.softmax(x, 1), lambda x: torch.exp(x) / torch.exp(x).sum(1, keepdim=True)),
    "unit length": (lambda x: F.normalize(x, dim=1), lambda x: x / torch.clamp(torch.sqrt((x * x).sum(1, keepdim=True)), min=1e-12)),
    "a quotient as a product": (lambda x: x / 255.0, lambda x: x * (1 / 255)),
    "tanh": (torch.tanh, lambda x: 2 * torch.sigmoid(2 * x) - 1),
    "tanh by exponentials": (torch.tanh, lambda x: 1 - 2 / (torch.exp(2 * x) + 1)),
    "silu": (F.silu, lambda x: x / (1 + torch.exp(-x))),
    "mish": (F.mish, lambda x: x * torch.tanh(F.softplus(x))),
    "softplus of small numbers": (F.softplus, lambda x: torch.log(1 + torch.exp(x))),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"),
                     lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x * x * x)))),
    "repeated": (lambda x: F.interpolate(x, scale_factor=2), lambda x: x.repeat_interleave(2, 2).repeat_interleave(2, 3)),
    "deviation": (lambda x: x - x.std((2, 3), unbiased=False, keepdim=True),
                  lambda x: x - ((x - x.mean((2, 3), keepdim=True)) ** 2).mean((2, 3), keepdim=True).sqrt()),
    "layer norm": (lambda x: F.layer_norm(x, x.shape[1:]),
                   lambda x: (x - x.mean((1, 2, 3), keepdim=True))
                   / torch.sqrt(((x - x.mean((1, 2, 3), keepdim=True)) ** 2).mean((1, 2, 3), keepdim=True) + 1e-5)),
    "group norm of one group": (lambda x: F.group_norm(x, 1), lambda x: F.layer_norm(x, x.shape[1:])),
    "a shift and a quotient": (lambda x: (x - 0.45) / 0.22, lambda x: x / 0.22 - 0.45 / 0.22),
    "rounded twice": (torch.round, lambda x: torch.round(torch.round(x))),
    "six": (F.relu6, lambda x: x.clamp(0, 6)),
}


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("name", EQUAL)
def test_the_same_written_otherwise(name, behind, tmp_path):
    a, b = (Between(f, behind) for f in EQUAL[name])
    code, text = said(tmp_path, a, b, torch.randn(1, 3, 9, 11))
    assert code == 0, text
    assert "operator by operator" in text


class Folded(nn.Module):
    """A batch norm behind a ReLU: as it is, as a factor and a term, or in the convolution behind."""

    def __init__(self, how):
        super().__init__()
        torch.manual_seed(4)
        self.how, self.c, self.n, self.d = how, nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.Conv2d(5, 4, 3)
        vectors = [torch.randn(5), torch.rand(5) + 0.5, torch.randn(5), torch.randn(5)]
        for name, value in zip(("running_mean", "running_var", "weight", "bias"), vectors):
            getattr(self.n, name).data.copy_(value)
        factor = self.n.weight.data / torch.sqrt(self.n.running_var + self.n.eps)
        term = self.n.bias.data - self.n.running_mean * factor
        self.factor, self.term = (nn.Buffer(value.view(1, 5, 1, 1)) for value in (factor, term))
        if how == "behind":
            self.d.bias.data += (self.d.weight.data * self.term).sum((1, 2, 3))
            self.d.weight.data *= self.factor

    def forward(self, x):
        x = F.relu(self.c(x))
        x = self.n(x) if self.how == "norm" else x * self.factor + self.term if self.how == "written" else x
        return self.d(x)


@pytest.mark.parametrize("a, b", [("norm", "written"), ("written", "norm"), ("norm", "behind"), ("behind", "norm")])
def test_a_norm_may_be_folded_into_what_is_behind(a, b, tmp_path):
    code, text = said(tmp_path, Folded(a).eval(), Folded(b).eval(), torch.randn(1, 3, 9, 11))
    assert code == 0, text


class Rewritten(nn.Module):
    """Weights of two layers that differ by what cancels between them, or do not."""

    def __init__(self, change, function):
        super().__init__()
        torch.manual_seed(5)
        self.c, self.d, self.function = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 4, 3), function
        if change:
            change(self.c.weight.data, self.c.bias.data, self.d.weight.data)

    def forward(self, x):
        return self.d(self.function(self.c(x)))


def scaled_between(factors):
    def change(kernel, bias, behind):
        kernel *= factors.view(-1, 1, 1, 1)
        bias *= factors
        behind /= factors.view(1, -1, 1, 1)

    return change


FACTORS = torch.tensor([0.5, 3.0, 0.7, 1.9, 2.0, 1.0])
SIGNS = torch.tensor([1.0, -1, -1, 1, -1, 1])
CANCELS = [(scaled_between(FACTORS), F.relu), (scaled_between(SIGNS), torch.tanh)]


def one_more(change, place):
    def more(*tensors):
        change(*tensors)
        tensors[place].flatten()[7 % tensors[place].numel()] *= 1.001

    return more


@pytest.mark.parametrize("change, function", CANCELS)
def test_weights_that_cancel_are_no_difference(change, function, tmp_path):
    x = torch.randn(1, 3, 9, 11)
    a = Rewritten(None, function)
    code, text = said(tmp_path, a, Rewritten(change, function), x)
    assert code == 0 and "computed or rounded otherwise" in text, text
    for place in range(3):  # and one number that does not
        code, text = said(tmp_path, a, Rewritten(one_more(change, place), function), x)
        assert code == 1, text


class Attention(nn.Module):
    def __init__(self, scale, of_queries):
        super().__init__()
        torch.manual_seed(6)
        self.q, self.k, self.v, self.o = nn.Linear(9, 12), nn.Linear(9, 12), nn.Linear(9, 12), nn.Linear(12, 7)
        self.scale = scale
        self.q.weight.data *= of_queries
        self.q.bias.data *= of_queries

    def forward(self, x):
        q, k, v = (layer(x).view(x.shape[0], -1, 3, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2)
        if self.scale != 1:
            scores = scores * self.scale
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape[0], -1, 12))


def test_a_scale_of_attention_may_be_in_the_queries(tmp_path):
    x = torch.randn(2, 5, 9)
    code, text = said(tmp_path, Attention(0.3, 1), Attention(1, 0.3), x)
    assert code == 0, text
    code, text = said(tmp_path, Attention(0.3, 1), Attention(1, 0.301), x)
    assert code == 1, text


NOT_FINITE = {
    "softmax": (lambda x: F.softmax(x, 1), lambda x: torch.exp(x) / torch.exp(x).sum(1, keepdim=True)),
    "sigmoid": (torch.sigmoid, lambda x: torch.exp(x) / (1 + torch.exp(x))),
    "softplus": (F.softplus, lambda x: torch.log(1 + torch.exp(x))),
    "log_softmax": (lambda x: F.log_softmax(x, 1), lambda x: torch.log(F.softmax(x, 1))),
    "logsigmoid": (F.logsigmoid, lambda x: torch.log(torch.sigmoid(x))),
    "softplus by log1p": (F.softplus, lambda x: torch.log1p(torch.exp(x))),
}


@pytest.mark.parametrize("name", NOT_FINITE)
def test_numbers_of_which_one_makes_infinity_are_said(name, tmp_path):
    a, b = (Between(f, True) for f in NOT_FINITE[name])
    code, text = said(tmp_path, a, b, torch.randn(1, 3, 9, 11))
    assert code == 0 and "only one of both is infinite, or no number" in text, text
    code, text = said(tmp_path, a, a, torch.randn(1, 3, 9, 11))
    assert code == 0 and "infinite" not in text, text


class Tokens(nn.Module):
    def __init__(self, mask):
        super().__init__()
        torch.manual_seed(5)
        self.table, self.after, self.mask = nn.Embedding(20, 4), nn.Linear(4, 3), mask

    def forward(self, n):
        return self.after((self.table(n) * self.mask(n)).mean(1))


MASKS = {"first": lambda n: (n != 0).float()[:, :, None], "some": lambda n: (n != 13).float()[:, :, None],
         "none": lambda n: torch.ones(1, 1, 1)}


@pytest.mark.parametrize("a", MASKS)
@pytest.mark.parametrize("b", MASKS)
def test_tokens_with_a_rule_of_their_own(a, b, tmp_path):
    code, text = said(tmp_path, Tokens(MASKS[a]), Tokens(MASKS[b]), torch.randint(1, 9, (1, 6)))
    assert code == (a != b), text


def test_differences_that_cancel_are_said_to(tmp_path):
    """What the keys add is the same for every key of a query: the softmax takes it off."""
    a, b = Attention(0.3, 1), Attention(0.3, 1)
    b.k.bias.data.zero_()
    code, text = said(tmp_path, a, b, torch.randn(2, 5, 9))
    assert code == 1 and "the outputs agree all the same" in text, text


class Squares(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, n):
        return (n.to(self.dtype) * n.to(self.dtype)).to(torch.float32)


def test_whole_numbers_that_overflow(tmp_path):
    n = torch.randint(0, 9, (1, 6))
    assert said(tmp_path, Squares(torch.int64), Squares(torch.int64), n)[0] == 0
    assert said(tmp_path, Squares(torch.int64), Squares(torch.int32), n)[0] == 1


class Steps(nn.Module):
    """An LSTM written out, its two biases added beforehand."""

    def __init__(self, cell, forget=0.0):
        super().__init__()
        self.kernel, self.recurrent = nn.Parameter(cell.weight_ih_l0.detach().clone()), nn.Parameter(cell.weight_hh_l0.detach().clone())
        self.bias = nn.Parameter((cell.bias_ih_l0 + cell.bias_hh_l0).detach().clone())
        with torch.no_grad():
            self.bias[6:12] += forget

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], 6)
        for t in range(5):
            i, f, g, o = (F.linear(x[:, t], self.kernel, self.bias) + F.linear(h, self.recurrent)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(4, 6, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0][:, -1]


@pytest.mark.parametrize("forget", [0.0, 1e-3, 1e-4])
def test_a_cell_written_out_step_by_step(forget, tmp_path):
    torch.manual_seed(1)
    a = Cell()
    code, text = said(tmp_path, a, Steps(a.cell, forget), torch.randn(1, 5, 4))
    assert code == (forget > 0), text


@pytest.mark.parametrize("f", [lambda w: w[49999, 2].add_(0.1), lambda w: w[[49998, 49999]].flip(0)])
def test_rows_of_a_table_that_nothing_asks_for(f, tmp_path):
    torch.manual_seed(1)
    a = nn.Sequential(nn.Embedding(50000, 3), nn.Linear(3, 2))
    b = copy.deepcopy(a)
    with torch.no_grad():
        rows = f(b[0].weight)
        if rows.shape == (2, 3):
            b[0].weight[49998:] = rows
    code, text = said(tmp_path, a, b, torch.randint(0, 50000, (1, 5)))
    assert code == 1, text
    assert "weights_differ" in text and "[49" in text


def test_a_dense_layer_behind_another_order_of_features(tmp_path):
    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.dense = nn.Conv2d(3, 4, 3), nn.Linear(4 * 7 * 9, 5)

        def forward(self, x):
            return self.dense(self.conv(x).flatten(1))

    class Second(First):
        def forward(self, x):
            return self.dense(self.conv(x).permute(0, 2, 3, 1).flatten(1))

    torch.manual_seed(1)
    a = First()
    b = Second()
    b.load_state_dict(a.state_dict())
    x = torch.randn(1, 3, 9, 11)
    with torch.no_grad():
        b.dense.weight.copy_(a.dense.weight.view(5, 4, 7, 9).permute(0, 2, 3, 1).reshape(5, -1))
    code, text = said(tmp_path, a, b, x)
    assert code == 0 and "same: " in text, text
    with torch.no_grad():
        b.dense.weight[2, 100] += 1e-6
    code, text = said(tmp_path, a, b, x)
    assert code == 1, text
