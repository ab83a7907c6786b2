"""PyTorch programs of two layers or three, and each once more with one fault: `convoy diff` names the fault, and nothing else."""
import copy
import itertools
import json
import subprocess

import pytest
from carrying import CONVOY

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

IMAGE = (2, 3, 15, 14)
PLAIN = "m.d(F.relu(m.c(x)))"
NORM = "m.d(F.relu(m.n(m.c(x))))"
BRANCHES = "m.d({} + {})"
ATTENTION = "m.o(torch.softmax(m.{}(x) @ m.{}(x).transpose(1, 2) / 3, -1) @ m.{}(x))"
LAST = "m.o(m.r(x)[0][:, -1])"


class Net(nn.Module):
    def __init__(self, expression, layers):
        super().__init__()
        self.expression = expression
        for name, layer in layers().items():
            self.add_module(name, layer)

    def forward(self, x):
        return eval(self.expression, {"torch": torch, "F": F, "m": self, "x": x})  # noqa: S307  written below


def two():
    return {"c": nn.Conv2d(3, 8, 3, padding=1), "d": nn.Conv2d(8, 5, 3)}


def normed():
    return {"c": nn.Conv2d(3, 6, 3), "n": nn.BatchNorm2d(6), "d": nn.Conv2d(6, 4, 1)}


def branched():
    return {"left": nn.Conv2d(3, 6, 3, padding=1), "right": nn.Conv2d(3, 6, 3, padding=1), "d": nn.Conv2d(6, 4, 1)}


def dense():
    return {"a": nn.Linear(12, 7), "b": nn.Linear(7, 7)}


def attending():
    return {"q": nn.Linear(8, 8), "k": nn.Linear(8, 8), "v": nn.Linear(8, 8), "o": nn.Linear(8, 5)}


def walking():
    return {"r": nn.LSTM(5, 4, batch_first=True), "o": nn.Linear(4, 3)}


def ordered(axis, order, *names):
    return [(name, lambda t, axis=axis: t.index_select(min(axis, t.ndim - 1), torch.tensor(order))) for name in names]


def exchanged(first, second):
    return lambda t: {first: t[second].clone(), second: t[first].clone()}


def times(name, factor):
    return [(name, lambda t: t * factor)]


def skipping():
    return {"c": nn.Conv2d(3, 4, 3, padding=1), "e": nn.Conv2d(4, 4, 3, padding=1), "g": nn.Conv2d(4, 4, 1), "d": nn.Conv2d(4, 5, 1)}


def grouped():
    return {"c": nn.Conv2d(3, 8, 3), "n": nn.GroupNorm(2, 8), "d": nn.Conv2d(8, 4, 1)}


SKIP = "(lambda h: m.d({}))(m.c(x))"
GATED = SKIP.format("h * ({})(m.g(h.mean((2, 3), keepdim=True)))")
SCORED = "torch.softmax(m.q(x) @ m.k(x).transpose(1, 2){}, {}) @ m.v(x)"
MASKED = SCORED.replace("m.q(x) @", "(m.q(x) @").format(" / 8 ** .5).masked_fill({}, float('-inf'))", -1)
ADDED = SCORED.format(" / 8 ** .5 + {} * (torch.ones(6, 6).triu(1) > 0).float()", -1)
HIDING = "(lambda s, hidden: torch.softmax({}, -1) @ m.v(x))(m.q(x) @ m.k(x).transpose(1, 2) / 3, x[:, None, :, 0] > .3)"
FILLED, LOWERED = "s.masked_fill(hidden, float('-inf'))", "s + hidden.float() * -1e9"
# cause, layers, a, b, shape: one fault each in what stands between the layers
BETWEEN = [
    ("pool_kind", two, "m.d(F.max_pool2d(m.c(x), 2))", "m.d(F.avg_pool2d(m.c(x), 2))", IMAGE),
    ("pool_divisor", two, "m.d(F.avg_pool2d(m.c(x), 3, 2, 1))", "m.d(F.avg_pool2d(m.c(x), 3, 2, 1, count_include_pad=False))", IMAGE),
    ("pool_pad_value", two, "m.d(F.max_pool2d(m.c(x), 3, 2, 1))", "m.d(F.max_pool2d(F.pad(m.c(x), (1, 1, 1, 1)), 3, 2))", IMAGE),
    ("pool_kind", two, "m.d(m.c(x)).mean((2, 3))", "m.d(m.c(x)).sum((2, 3))", IMAGE),
    ("pool_kind", two, "m.d(m.c(x)).mean((2, 3))", "m.d(m.c(x)).amax((2, 3))", IMAGE),
    ("pad_mode", two, "m.d(F.pad(m.c(x), (2, 1, 1, 2), mode='reflect'))", "m.d(F.pad(m.c(x), (2, 1, 1, 2), mode='replicate'))", IMAGE),
    ("pad_mode", two, "m.d(F.pad(m.c(x), (1, 1, 1, 1), value=1.0))", "m.d(F.pad(m.c(x), (1, 1, 1, 1)))", IMAGE),
    ("pads_hw_swapped", two, "m.d(F.pad(m.c(x), (2, 2, 1, 1)))", "m.d(F.pad(m.c(x), (1, 1, 2, 2)))", IMAGE),
    ("odd_cell_on_the_other_side", two, "m.d(F.pad(m.c(x), (0, 1, 0, 1)))", "m.d(F.pad(m.c(x), (1, 0, 1, 0)))", IMAGE),
    ("resize_mode", two, "m.d(F.interpolate(m.c(x), scale_factor=2, mode='bilinear'))", "m.d(F.interpolate(m.c(x), scale_factor=2))", IMAGE),
    ("layer_missing", skipping, SKIP.format("h + F.relu(m.e(h))"), SKIP.format("F.relu(m.e(h))"), IMAGE),
    ("order_of_layers", skipping, SKIP.format("F.relu(h + m.e(h))"), SKIP.format("h + F.relu(m.e(h))"), IMAGE),
    ("activation_missing", skipping, GATED.format("torch.sigmoid"), GATED.format("lambda t: t"), IMAGE),
    ("activation_variant", skipping, GATED.format("torch.sigmoid"), GATED.format("F.hardsigmoid"), IMAGE),
    ("norm_groups", grouped, "m.d(m.n(m.c(x)))", "m.d(F.group_norm(m.c(x), 4, m.n.weight, m.n.bias))", IMAGE),
    ("number", attending, SCORED.format(" / 8 ** .5", -1), SCORED.format(" / 8", -1), (2, 6, 8)),
    ("layer_missing", attending, SCORED.format(" / 8 ** .5", -1), SCORED.format("", -1), (2, 6, 8)),
    ("softmax_axis", attending, SCORED.format(" / 8 ** .5", -1), SCORED.format(" / 8 ** .5", 1), (2, 6, 8)),
    ("attention_mask", attending, MASKED.format("torch.ones(6, 6).triu(1) > 0"), SCORED.format(" / 8 ** .5", -1), (2, 6, 8)),
    ("attention_mask", attending, SCORED.format(" / 8 ** .5", -1), MASKED.format("torch.ones(6, 6).triu(1) > 0"), (2, 6, 8)),
    ("attention_mask", attending, MASKED.format("torch.ones(6, 6).triu(1) > 0"), MASKED.format("torch.ones(6, 6).triu(2) > 0"), (2, 6, 8)),
    ("attention_mask", attending, MASKED.format("torch.ones(6, 6).triu(1) > 0"), ADDED.format(-5), (2, 6, 8)),
    ("attention_mask", attending, HIDING.format(FILLED), HIDING.format("s"), (2, 6, 8)),
    ("attention_mask", attending, HIDING.format("s"), HIDING.format(FILLED), (2, 6, 8)),
    ("attention_mask", attending, HIDING.format(LOWERED), HIDING.format("s"), (2, 6, 8)),
    ("attention_mask", attending, HIDING.format("s"), HIDING.format(LOWERED), (2, 6, 8)),
    ("branches_exchanged", attending, ATTENTION.format("q", "k", "v"), ATTENTION.format("q", "v", "k"), (2, 6, 8)),
    ("parameter", two, "m.d(m.c(x).tril(0))", "m.d(m.c(x).tril(1))", IMAGE),
    ("parameter", two, "m.d(m.c(x).topk(4, 3)[0])", "m.d(m.c(x).topk(4, 3, largest=False)[0])", IMAGE),
    ("sequence_end", walking, LAST, "m.o(m.r(x)[0][:, 0])", (2, 6, 5)),
    ("sequence_axis", walking, "m.o(m.r(x)[0])", "m.o(m.r(x.transpose(0, 1))[0].transpose(0, 1))", (6, 6, 5)),
    ("preprocessing", two, "m.d(m.c(x / 255))", "m.d(m.c(x))", IMAGE),
    ("branches_exchanged", two, "(lambda h: m.d(torch.cat([h[:, :4] * torch.sigmoid(h[:, 4:])] * 2, 1)))(m.c(x))",
     "(lambda h: m.d(torch.cat([h[:, 4:] * torch.sigmoid(h[:, :4])] * 2, 1)))(m.c(x))", IMAGE),
    ("number", two, "m.d(m.c(x).abs() ** 1.5)", "m.d(m.c(x).abs() ** 2.5)", IMAGE),
    ("number", two, "m.d(F.relu(m.c(x)) * .5)", "m.d(F.relu(m.c(x)) * .25)", IMAGE),
]
QUICK = "lambda h: h * torch.sigmoid(1.702 * h)"
TANH = "lambda h: .5 * h * (1 + torch.tanh(.7978845608 * (h + {} * h ** 3)))"
BEYOND = "lambda h: torch.where(h > {}, torch.ones_like(h), h)"
# cause, a's function, b's: in one operator, or written out
FUNCTIONS = [
    ("activation_variant", "F.gelu", QUICK),
    ("activation_variant", QUICK, "F.gelu"),
    ("activation_kind", "F.silu", QUICK),
    ("activation_kind", "lambda h: h.softmax(1)", "torch.sigmoid"),
    ("activation_kind", "torch.sigmoid", "lambda h: h.softmax(1)"),
    ("activation_missing", BEYOND.format(100), "lambda h: h"),
    ("activation_extra", "lambda h: h", BEYOND.format(100)),
    ("activation_missing", BEYOND.format(.1), "lambda h: h"),
    ("number", TANH.format(.044715), TANH.format(.0447)),
    ("activation_variant", "lambda h: F.gelu(h, approximate='tanh')", TANH.format(.04)),
    ("activation_kind", "F.mish", "lambda h: torch.log(1 + torch.exp(h))"),
    ("activation_kind", "torch.round", "lambda h: torch.floor(h + .5)"),
    ("activation_kind", "F.relu", "torch.abs"),
    ("activation_kind", "F.silu", "lambda h: h * torch.sigmoid(1.5 * h)"),
    ("activation_variant", "F.hardswish", "lambda h: h * torch.sigmoid(h)"),
    ("activation_variant", "F.softplus", "lambda h: F.softplus(h, 2.0)"),
    ("activation_slope", "F.elu", "lambda h: F.elu(h, 0.5)"),
]
OUTPUTS, INPUTS = [0, 4, 2, 3, 1, 5, 6, 7], [0, 1, 5, 3, 4, 2, 6, 7]
CUT = "m.d(F.relu(m.c(x)[:, :, {}]))"
# cause, layers, a, b (None: as a), what is changed in b's numbers, shape
ROWS = [
    ("channel_order", two, PLAIN, None, ordered(0, OUTPUTS, "c.weight", "c.bias"), IMAGE),
    ("channel_order", two, PLAIN, None, ordered(0, OUTPUTS, "c.weight"), IMAGE),
    ("channel_order", two, PLAIN, None, ordered(0, OUTPUTS, "c.bias"), IMAGE),
    ("channel_order", two, PLAIN, None, ordered(1, INPUTS, "d.weight"), IMAGE),
    ("channel_order", two, PLAIN, None, ordered(1, [1, 0, 2], "c.weight"), IMAGE),
    ("channel_order", two, PLAIN, "m.d(F.relu(m.c(x))[:, [2, 1, 0, 3, 4, 5, 6, 7]])", [], IMAGE),
    ("channel_order", two, PLAIN, "m.d(F.relu(m.c(x.flip(1))))", [], IMAGE),
    ("channel_order", normed, NORM, None, ordered(0, [0, 3, 2, 1, 4, 5], "n.weight", "n.bias", "n.running_mean", "n.running_var"),
     IMAGE),
    ("channel_order", dense, "m.b(torch.tanh(m.a(x)))", None, ordered(0, [2, 0, 1, 3, 6, 5, 4], "b.weight", "b.bias"), (3, 12)),
    ("channel_order", dense, "m.b(torch.tanh(m.a(x)))", None, ordered(1, [0, 4, 2, 3, 1, 5, 6], "b.weight"), (3, 12)),
    ("branches_exchanged", branched, BRANCHES.format("F.relu(m.left(x))", "m.right(x)"),
     BRANCHES.format("F.relu(m.right(x))", "m.left(x)"), [], IMAGE),
    ("branches_exchanged", branched, BRANCHES.format("F.relu(m.left(x))", "torch.tanh(m.right(x))"),
     BRANCHES.format("F.relu(m.right(x))", "torch.tanh(m.left(x))"), [], IMAGE),
    ("branches_exchanged", branched, BRANCHES.format("F.max_pool2d(m.left(x), 2)", "F.avg_pool2d(m.right(x), 2)"),
     BRANCHES.format("F.max_pool2d(m.right(x), 2)", "F.avg_pool2d(m.left(x), 2)"), [], IMAGE),
    ("branches_exchanged", branched, "m.d(torch.sigmoid(m.left(x)) * m.right(x))", "m.d(torch.sigmoid(m.right(x)) * m.left(x))", [],
     IMAGE),
    ("branches_exchanged", branched, "m.d(m.left(x) - m.right(x))", "m.d(m.right(x) - m.left(x))", [], IMAGE),
    ("branches_exchanged", branched, "m.d((m.left(x) + 7) / (m.right(x) + 9))", "m.d((m.right(x) + 9) / (m.left(x) + 7))", [], IMAGE),
    ("branches_exchanged", branched, "m.d(torch.where(x[:, :1] > 0, m.left(x), m.right(x)))",
     "m.d(torch.where(x[:, :1] > 0, m.right(x), m.left(x)))", [], IMAGE),
    ("branches_exchanged", attending, ATTENTION.format("q", "k", "v"), ATTENTION.format("k", "q", "v"), [], (2, 6, 8)),
    ("branches_exchanged", attending, ATTENTION.format("q", "k", "v"), ATTENTION.format("v", "k", "q"), [], (2, 6, 8)),
    ("branches_exchanged", attending, ATTENTION.format("q", "k", "v"), ATTENTION.format("k", "v", "q"), [], (2, 6, 8)),
    ("weights_exchanged", branched, BRANCHES.format("m.left(x)", "torch.tanh(m.right(x))"), None,
     [exchanged("left.weight", "right.weight"), exchanged("left.bias", "right.bias")], IMAGE),
    ("activation_slope", two, "m.d((lambda h: torch.maximum(h, .1 * h))(m.c(x)))",
     "m.d((lambda h: torch.maximum(h, .1001 * h))(m.c(x)))", [], IMAGE),
    ("activation_slope", two, "m.d(F.leaky_relu(m.c(x), .1))", "m.d((lambda h: torch.maximum(h, .1001 * h))(m.c(x)))", [], IMAGE),
    ("activation_slope", two, "m.d((lambda h: torch.where(h > 0, h, .1 * h))(m.c(x)))", "m.d(F.leaky_relu(m.c(x), .2))", [], IMAGE),
    ("activation_slope", two, "m.d((lambda h: F.relu(h) - .1 * F.relu(-h))(m.c(x)))", "m.d(F.leaky_relu(m.c(x), .01))", [], IMAGE),
    ("activation_slope", two, "m.d((lambda h: .55 * h + .45 * h.abs())(m.c(x)))", "m.d(F.leaky_relu(m.c(x), .2))", [], IMAGE),
    ("activation_limit", two, "m.d(torch.clamp(4 * m.c(x), -1, 2))", "m.d(torch.clamp(4 * m.c(x), -1, 2.5))", [], IMAGE),
    ("bn_mean_var_swapped", normed, NORM, None, [("n.running_mean", torch.abs), exchanged("n.running_mean", "n.running_var")], IMAGE),
    ("bn_gamma_beta_swapped", normed, NORM, None, [exchanged("n.weight", "n.bias")], IMAGE),
    ("bn_vector_order", normed, NORM, None, [exchanged("n.weight", "n.running_mean")], IMAGE),
    ("bias_doubled", two, PLAIN, None, times("c.bias", 2), IMAGE),
    ("bias_doubled", two, PLAIN, "m.d(F.relu(m.c(x) + m.c.bias.view(1, -1, 1, 1)))", [], IMAGE),
    ("bias_doubled", dense, "m.b(m.a(x))", "m.b(m.a(x)) + m.b.bias", [], (3, 12)),
    ("weights_differ", two, PLAIN, None, times("c.bias", -1), IMAGE),
    ("weights_differ", two, PLAIN, None, times("c.bias", 0.5), IMAGE),
    ("weights_differ", walking, LAST, None, [("r.bias_ih_l0", lambda t: t + torch.arange(16) / 16)], (2, 6, 5)),
    ("dense_transposed", dense, "m.b(torch.tanh(m.a(x)))", None, [("b.weight", lambda t: t.t())], (3, 12)),
    ("ceil_mode", two, "m.d(F.max_pool2d(m.c(x), 3, 2))", "m.d(F.max_pool2d(m.c(x), 3, 2, ceil_mode=True))", [], (2, 3, 14, 16)),
    ("ceil_mode", two, "m.d(F.avg_pool2d(m.c(x), 2))", "m.d(F.avg_pool2d(m.c(x), 2, ceil_mode=True))", [], (2, 3, 15, 15)),
    ("ceil_mode", two, "m.d(F.max_pool2d(m.c(x), 3, 2, padding=1, ceil_mode=True))", "m.d(F.max_pool2d(m.c(x), 3, 2, padding=1))", [],
     (2, 3, 14, 16)),
    ("crop", two, CUT.format("1:-1, 1:-1"), CUT.format(":-2, :-2"), [], IMAGE),
    ("crop", two, CUT.format("1:-1, 1:-1"), CUT.format(":-2, 1:-1"), [], IMAGE),
    ("crop", two, CUT.format("1:-1, 1:-1"), CUT.format("2:, 2:"), [], IMAGE),
    ("crop", two, CUT.format("1:-1, 1:-1"), CUT.format(":, :"), [], IMAGE),
    ("crop", two, CUT.format(":, :"), CUT.format("1:-1, 2:"), [], IMAGE),
    ("crop", two, "m.d(F.relu(m.c(x))[:, :, 1:-1])", "m.d(F.relu(m.c(x))[:, :, 2:])", [], IMAGE),
    ("kernel_size", two, "m.d(F.avg_pool2d(m.c(x), 3, 2))", "m.d(F.avg_pool2d(m.c(x), 2, 2))", [], IMAGE),
    *((cause, two, f"m.d(({a})(m.c(x)))", f"m.d(({b})(m.c(x)))", [], IMAGE) for cause, a, b in FUNCTIONS),
    *((cause, layers, a, b, [], shape) for cause, layers, a, b, shape in BETWEEN),
    ("activation_kind", two, "m.d(m.c(x)).softmax(1)", "m.d(m.c(x)).sigmoid()", [], IMAGE),
    ("order_of_layers", two, PLAIN, "m.d(F.relu(F.conv2d(x, m.c.weight, padding=1)) + m.c.bias.view(1, -1, 1, 1))", [], IMAGE),
    ("order_of_layers", two, "m.d(F.relu(F.conv2d(x, m.c.weight, padding=1)) + m.c.bias.view(1, -1, 1, 1))", PLAIN, [], IMAGE),
    *(("bn_vector_order", normed, NORM, None, ordered(0, [5, 4, 3, 2, 1, 0], f"n.{vector}"), IMAGE)
      for vector in ("weight", "bias", "running_mean", "running_var")),
    ("number", branched, "m.d(m.left(x) + .1 * m.right(x))", "m.d(m.left(x) + .2 * m.right(x))", [], IMAGE),
]


def changed(net, changes):
    tensors = dict([*net.named_parameters(), *net.named_buffers()])
    for change in changes:
        now = change(tensors) if callable(change) else {change[0]: change[1](tensors[change[0]]).clone()}
        for name, values in now.items():
            tensors[name].copy_(values)


@pytest.mark.parametrize("row", range(len(ROWS)), ids=[f"{i}_{row[0]}" for i, row in enumerate(ROWS)])
def test_the_fault_is_named(row, tmp_path):
    cause, layers, right, wrong, changes, shape = ROWS[row]
    a, b = Net(right, layers).eval(), Net(wrong or right, layers).eval()
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(shape, generator=generator)
    with torch.no_grad():
        for name, tensor in a.state_dict().items():
            if tensor.dtype == torch.float32:
                drawn = torch.randn(tensor.shape, generator=generator) * 0.4
                tensor.copy_(drawn.abs() + 0.2 if "running_var" in name else drawn)
        b.load_state_dict(a.state_dict())
        changed(b, changes)
        want, got = a(x), b(x)
    shows_in_others = wrong is not None and any(word in right + wrong for word in ("> 100", "floor"))  # beyond what was drawn
    assert shows_in_others or want.shape != got.shape or not torch.equal(want, got)
    for net, name in ((a, "a"), (b, "b")):
        torch.export.save(torch.export.export(net, (x,)), tmp_path / f"{name}.pt2")
    done = subprocess.run([CONVOY, "diff", tmp_path / "a.pt2", tmp_path / "b.pt2", "--json"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    said = json.loads(done.stdout)["differences"]
    assert [d["cause"] for d in said] == [cause], [(d["a"], d["cause"], d["also"], d["change"]) for d in said]
    assert said[0]["separating_size"] != said[0]["size"], "the size that was tried is no advice"
    assert said[0]["ratio_after_fix"] <= said[0]["limit"] < said[0]["ratio"]
    # The call of a norm whose vectors lie in another order is what the port already says.
    assert not cause.startswith("bn_") or "nn.BatchNorm" not in said[0]["fix"]["torch"], said[0]["fix"]


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        for block in range(2):
            for name, layer in (("la", nn.LayerNorm(12)), ("a", nn.Linear(12, 12)), ("lb", nn.LayerNorm(12)), ("u", nn.Linear(12, 20)),
                                ("d", nn.Linear(20, 12))):
                self.add_module(f"{name}{block}", layer)
        self.f, self.h = nn.LayerNorm(12), nn.Linear(12, 4)

    def forward(self, x):
        for block in range(2):
            la, a, lb, u, d = (getattr(self, f"{name}{block}") for name in ("la", "a", "lb", "u", "d"))
            x = x + a(la(x))
            x = x + d(torch.relu(u(lb(x))))
        return self.h(self.f(x).mean(1))


@pytest.mark.parametrize("first, second", itertools.combinations(("la0", "lb0", "la1", "lb1", "f"), 2))
def test_norms_that_hold_each_others_vectors(first, second, tmp_path):
    torch.manual_seed(0)
    a = Transformer().eval()
    for module in a.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.normal_(module.weight, 1, 0.3)
            nn.init.normal_(module.bias, 0, 0.3)
    b = copy.deepcopy(a)
    getattr(b, first).load_state_dict(getattr(a, second).state_dict())
    getattr(b, second).load_state_dict(getattr(a, first).state_dict())
    for net, name in ((a, "a"), (b, "b")):
        torch.export.save(torch.export.export(net, (torch.randn(2, 9, 12),)), tmp_path / f"{name}.pt2")
    done = subprocess.run([CONVOY, "diff", tmp_path / "a.pt2", tmp_path / "b.pt2", "--json"], capture_output=True, text=True)
    said = [(d["a"], d["cause"], d["certain"]) for d in json.loads(done.stdout)["differences"]]
    assert said == [(first, "weights_exchanged", True), (second, "weights_exchanged", True)], said
