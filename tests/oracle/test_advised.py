"""The lines that `convoy diff` tells to write, written: in PyTorch and in Keras they give what the original gives, and not what
the faulty model gives. A line may be an expression of x, a layer that is called with it, or statements that make a new x."""
import json
import subprocess

import numpy as np
import pytest
from carrying import CONVOY

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

IMAGE = (2, 3, 9, 7)


class Net(nn.Module):
    """x through one expression; `c` is a convolution that it may call."""

    def __init__(self, expression):
        super().__init__()
        self.expression = expression
        generator = torch.Generator().manual_seed(3)
        self.c = nn.Conv2d(3, 8, 3)
        for p in self.c.parameters():
            p.data = torch.randn(p.shape, generator=generator)

    def forward(self, x):
        return eval(self.expression, {"torch": torch, "F": F, "nn": nn, "m": self, "x": x})  # noqa: S307  written below


def function(name, right, wrong, shape=IMAGE):
    return pytest.param(right, wrong, shape, id=name)


ROWS = [
    function("slope", "F.leaky_relu(x, 0.1)", "F.leaky_relu(x, 0.01)"),
    function("slope written out", "torch.maximum(x, 0.1 * x)", "torch.maximum(x, 0.1001 * x)"),
    function("limit 1", "torch.clamp(x, 0, 1)", "torch.clamp(x, 0, 2)"),
    function("limit 6", "F.relu6(9 * x)", "F.relu(9 * x)"),
    function("both limits", "torch.clamp(x, -0.5, 1.25)", "torch.clamp(x, -1, 1.25)"),
    function("lower limit alone", "torch.clamp(x, min=-0.5)", "torch.clamp(x, min=-0.25)"),
    function("elu", "F.elu(x, 0.5)", "F.elu(x)"),
    function("celu", "F.celu(x, 0.5)", "F.celu(x, 2.0)"),
    function("gelu", "F.gelu(x)", "F.gelu(x, approximate='tanh')"),
    function("gelu by tanh", "F.gelu(x, approximate='tanh')", "F.gelu(x)"),
    function("softplus", "F.softplus(x, beta=2)", "F.softplus(x)"),
    function("hard sigmoid", "F.hardsigmoid(x)", "torch.sigmoid(x)"),
    function("hard sigmoid of Keras 2", "torch.clamp(0.2 * x + 0.5, 0, 1)", "F.hardsigmoid(x)"),
    function("tanh", "torch.tanh(x)", "torch.sigmoid(x)"),
    function("exp", "torch.exp(x)", "F.relu(x)"),
    function("arctangent", "torch.atan(x)", "torch.tanh(x)"),
    function("threshold", "F.threshold(x, 0.25, -0.5)", "F.relu(x)"),
    function("mish", "F.mish(x)", "F.silu(x)"),
    function("shrink", "F.softshrink(x, 0.25)", "F.softshrink(x, 0.5)"),
    function("log softmax", "F.log_softmax(x, 1)", "F.log_softmax(x, 2)"),
    function("softmax over channels", "F.softmax(x, 1)", "F.softmax(x, 2)"),
    function("a value lost", "F.pad(x, (1, 2, 0, 1), value=1.5)", "F.pad(x, (1, 2, 0, 1))"),
    function("another value", "F.pad(x, (1, 2, 0, 1), value=1.5)", "F.pad(x, (1, 2, 0, 1), value=-0.5)"),
    function("a value too many", "F.pad(x, (1, 2, 0, 1))", "F.pad(x, (1, 2, 0, 1), value=1.5)"),
    function("replicate", "F.pad(x, (1, 2, 0, 1), mode='replicate')", "F.pad(x, (1, 2, 0, 1), mode='reflect')"),
    function("reflect", "F.pad(x, (1, 2, 0, 1), mode='reflect')", "F.pad(x, (1, 2, 0, 1), mode='replicate')"),
    function("circular", "F.pad(x, (1, 2, 3, 1), mode='circular')", "F.pad(x, (1, 2, 3, 1), mode='replicate')"),
    function("amounts", "F.pad(x, (1, 2, 0, 1), mode='reflect')", "F.pad(x, (2, 1, 1, 0), mode='reflect')"),
    function("a steps' border", "F.pad(x, (2, 1), mode='replicate')", "F.pad(x, (2, 1), mode='reflect')", (2, 5, 8)),
    function("shuffle", "F.pixel_shuffle(x, 2)",
             "x.reshape(2, 2, 2, 3, 4, 5).permute(0, 3, 4, 1, 5, 2).reshape(2, 3, 8, 10)", (2, 12, 4, 5)),
    function("corners", "F.interpolate(x, size=(12, 15), mode='bilinear', align_corners=True)",
             "F.interpolate(x, size=(12, 15), mode='bilinear', align_corners=False)"),
    function("no corners", "F.interpolate(x, size=(12, 15), mode='bilinear', align_corners=False)",
             "F.interpolate(x, size=(12, 15), mode='bilinear', align_corners=True)"),
    function("nearest", "F.interpolate(x, size=(18, 21))", "F.interpolate(x, size=(18, 21), mode='bilinear')"),
    function("the pool", "F.max_pool2d(x, 3, 2, padding=1)", "F.avg_pool2d(x, 3, 2, padding=1)"),
    function("the divisor", "F.avg_pool2d(x, 3, 2, padding=1)", "F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False)"),
    function("ceil", "F.max_pool2d(x, 2, 2, ceil_mode=True)", "F.max_pool2d(x, 2, 2)"),
    function("floor", "F.max_pool2d(x, 2, 2)", "F.max_pool2d(x, 2, 2, ceil_mode=True)"),
    function("pads of a convolution", "m.c(F.pad(x, (0, 1, 0, 1)))", "F.conv2d(x, m.c.weight, m.c.bias, padding=1)"),
    function("stride", "F.conv2d(x, m.c.weight, m.c.bias, stride=2)", "m.c(x)"),
    function("dilation", "F.conv2d(x, m.c.weight, m.c.bias, dilation=2, padding=2)",
             "F.conv2d(x, m.c.weight, m.c.bias, padding=1)"),
    function("scale in front", "F.conv2d(x / 127.5 - 1, m.c.weight)", "F.conv2d(x / 255, m.c.weight)"),
]


def exported(net, x, file):
    torch.export.save(torch.export.export(net.eval(), (x,)), file)
    with torch.no_grad():
        return net(x)


def written(line, there, x, call):
    """What the line makes of x."""
    *statements, last = line.split("  #")[0].split("; ")
    there = {**there, "x": x}
    for statement in statements:
        if statement.startswith(("x =", "ones =")) or "=" in statement.split("(")[0]:
            exec(statement, there)  # noqa: S102  convoy's own words
        else:
            there["x"] = call(eval(statement, there), there["x"])  # noqa: S307
    if "=" in last.split("(")[0]:
        exec(last, there)  # noqa: S102
        return there["x"]
    return call(eval(last, there), there["x"])  # noqa: S307


@pytest.mark.parametrize(("right", "wrong", "shape"), ROWS)
def test_the_advised_line_gives_the_originals_numbers(right, wrong, shape, tmp_path):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 2
    a, b = Net(right), Net(wrong)
    want, got = exported(a, x, tmp_path / "a.pt2"), exported(b, x, tmp_path / "b.pt2")
    assert want.shape != got.shape or not torch.allclose(want, got)
    done = subprocess.run([CONVOY, "diff", tmp_path / "a.pt2", tmp_path / "b.pt2", "--json"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    first = json.loads(done.stdout)["first"]
    fix = first["fix"]
    assert fix["torch"], first

    def as_torch(value, x):
        if not isinstance(value, nn.Module):
            return value
        if getattr(value, "weight", None) is not None:
            value.weight.data, bias = a.c.weight.data, getattr(value, "bias", None)
            if bias is not None:
                bias.data = a.c.bias.data
        return value(x)

    inside = {"c": lambda: a.c, "weight": a.c.weight, "bias": a.c.bias}
    there = {"torch": torch, "F": F, "nn": nn, "b": None, **inside}
    # What stands around the operator at fault stays as it is.
    fed, behind = around(right, x, a)
    with torch.no_grad():
        made = behind(written(fix["torch"], there, fed, as_torch))
    assert made.shape == want.shape, fix["torch"]
    torch.testing.assert_close(made, want, rtol=1e-5, atol=1e-5)
    if fix["keras"]:
        in_keras(fix["keras"], fed, behind, want, a)


def around(right, x, a):
    """The input of the operator at fault, and what reads it."""
    if right == "F.relu6(9 * x)":
        return 9 * x, lambda y: y
    if "127.5" in right:
        return x, lambda y: F.conv2d(y, a.c.weight)
    return x, lambda y: y


def in_keras(line, x, behind, want, a):
    keras = pytest.importorskip("keras")
    order, back = ([0, *range(2, x.ndim), 1], [0, x.ndim - 1, *range(1, x.ndim - 1)])

    def as_keras(value, x):
        if not isinstance(value, keras.layers.Layer):
            return value
        value.build(x.shape)
        if value.weights:
            value.set_weights([a.c.weight.detach().numpy().transpose(2, 3, 1, 0), a.c.bias.detach().numpy()][:len(value.weights)])
        return value(x)

    there = {**{name: getattr(keras.layers, name) for name in dir(keras.layers) if not name.startswith("_")},
             "keras": keras, "ops": keras.ops, "layers": keras.layers}
    try:
        import tensorflow
        there["tf"] = tensorflow
    except ImportError:
        pass
    made = written(line, there, keras.ops.convert_to_tensor(x.numpy().transpose(order)), as_keras)
    made = behind(torch.from_numpy(np.array(made).transpose(back)))
    assert made.shape == want.shape, line
    torch.testing.assert_close(made, want, rtol=1e-4, atol=1e-4, msg=line)


class Cell(nn.Module):
    """A recurrent layer, of which a step or all steps are handed on to a dense layer."""

    def __init__(self, cell, step):
        super().__init__()
        self.cell, self.step = cell, step
        generator = torch.Generator().manual_seed(5)
        self.dense = nn.Linear(6, 3)
        for p in self.parameters():
            p.data = torch.randn(p.shape, generator=generator) / 2

    def forward(self, x):
        y = self.cell(x)[0]
        return self.dense(y if self.step is None else y[:, self.step])


def test_sequences_keep_their_order_in_keras(tmp_path):
    """Features lie last there in both: an axis said is the original's."""
    for name, shape, right, wrong, line in [
        ("softmax", (2, 6, 4), "F.softmax(F.linear(x, torch.eye(4)), -1)", "F.softmax(F.linear(x, torch.eye(4)), 1)", "layers.Softmax(axis=-1)"),
        ("over time", (2, 6, 4), "F.softmax(F.linear(x, torch.eye(4)), 1)", "F.softmax(F.linear(x, torch.eye(4)), 2)", "layers.Softmax(axis=1)"),
        ("scores", (2, 3, 6, 4), "F.softmax(x @ x.transpose(2, 3), -1)", "F.softmax(x @ x.transpose(2, 3), -2)", "layers.Softmax(axis=-1)"),
    ]:
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
        exported(Net(right), x, tmp_path / "a.pt2")
        exported(Net(wrong), x, tmp_path / "b.pt2")
        done = subprocess.run([CONVOY, "diff", tmp_path / "a.pt2", tmp_path / "b.pt2", "--json"], capture_output=True, text=True)
        fixes = [d["fix"]["keras"] for d in json.loads(done.stdout)["differences"]]
        assert fixes == [line], (name, fixes)


CELLS = [
    pytest.param(nn.LSTM, nn.GRU, None, id="LSTM as GRU"),
    pytest.param(nn.GRU, nn.RNN, -1, id="GRU as RNN"),
    pytest.param(nn.RNN, nn.LSTM, -1, id="RNN as LSTM"),
]


def difference(a, b, cause):
    done = subprocess.run([CONVOY, "diff", a, b, "--json"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["differences"]
    assert [d["cause"] for d in found] == [cause]
    return [found[0]["fix"][key].split("  #")[0] for key in ("torch", "keras")]


@pytest.mark.parametrize(("right", "wrong", "step"), CELLS)
def test_the_advised_line_of_a_cell_is_the_cell(right, wrong, step, tmp_path):
    x = torch.randn((2, 9, 5), generator=torch.Generator().manual_seed(1))
    a, b = Cell(right(5, 6, batch_first=True), step), Cell(wrong(5, 6, batch_first=True), step)
    b.dense.load_state_dict(a.dense.state_dict())
    want = exported(a, x, tmp_path / "a.pt2")
    exported(b, x, tmp_path / "b.pt2")
    in_torch, in_keras_line = difference(tmp_path / "a.pt2", tmp_path / "b.pt2", "cell_kind")
    made = eval(in_torch[:in_torch.index("(x)")], {"nn": nn})  # noqa: S307  convoy's own words: the cell, called on x
    made.load_state_dict(a.cell.state_dict())
    y = made(x)[0]
    torch.testing.assert_close(a.dense(y if step is None else y[:, step]), want)
    keras = pytest.importorskip("keras")
    layer = eval(in_keras_line, {"layers": keras.layers})  # noqa: S307
    assert type(layer).__name__.upper().endswith(right.__name__)
    shape = tuple(layer(x.numpy()).shape)
    assert shape == (tuple(y.shape) if layer.return_sequences else (2, 6))


def test_the_advised_line_of_the_other_end_gives_the_end(tmp_path):
    x = torch.randn((2, 9, 5), generator=torch.Generator().manual_seed(1))
    a, b = Cell(nn.LSTM(5, 6, batch_first=True), -1), Cell(nn.LSTM(5, 6, batch_first=True), 0)
    b.load_state_dict(a.state_dict())
    want = exported(a, x, tmp_path / "a.pt2")
    exported(b, x, tmp_path / "b.pt2")
    line, _ = difference(tmp_path / "a.pt2", tmp_path / "b.pt2", "sequence_end")
    there = {"y": b.cell(x)[0]}
    exec(line, there)  # noqa: S102  convoy's own words
    torch.testing.assert_close(b.dense(there["y"] if there["y"].ndim == 2 else there["y"][:, 0]), want)


class Halves(nn.Module):
    """Both directions, each a cell of its own; what walks back is turned round again, or left as it was walked."""

    def __init__(self, turned):
        super().__init__()
        self.there, self.back = nn.LSTM(5, 6, batch_first=True), nn.LSTM(5, 6, batch_first=True)
        self.dense, self.turned = nn.Linear(12, 3), turned

    def forward(self, x, line=None):
        names = {"backward": self.back(x.flip(1))[0]}
        if line or self.turned:
            exec(line or "backward = backward.flip(1)", names)  # noqa: S102  convoy's own words
        return self.dense(torch.cat([self.there(x)[0], names["backward"]], -1))


def test_the_advised_line_of_the_half_that_walks_back_turns_it_round(tmp_path):
    keras = pytest.importorskip("keras")
    x = torch.randn((2, 9, 5), generator=torch.Generator().manual_seed(1))
    b = Halves(turned=False).eval()
    cell = keras.layers.Bidirectional(keras.layers.LSTM(6, return_sequences=True))
    model = keras.Sequential([keras.Input((9, 5)), cell, keras.layers.Dense(3)])
    state = {name: tensor.numpy() for name, tensor in b.state_dict().items()}
    weights = []
    for half in ("there", "back"):
        weights += [state[f"{half}.weight_ih_l0"].T, state[f"{half}.weight_hh_l0"].T,
                    state[f"{half}.bias_ih_l0"] + state[f"{half}.bias_hh_l0"]]  # fmt: skip
    model.set_weights([*weights, state["dense.weight"].T, state["dense.bias"]])
    model.save(tmp_path / "a.keras")
    exported(b, x, tmp_path / "b.pt2")
    done = subprocess.run([CONVOY, "diff", tmp_path / "a.keras", tmp_path / "b.pt2", "--json"], capture_output=True, text=True)
    [found] = json.loads(done.stdout)["differences"]
    assert found["cause"] == "sequence_end"
    with torch.no_grad():
        mended = b(x, found["fix"]["torch"].split("  #")[0])
    torch.testing.assert_close(mended, torch.from_numpy(model(x.numpy()).numpy()), rtol=1e-5, atol=1e-6)


NORMS = [
    pytest.param(nn.LayerNorm(7, eps=1e-3), nn.LayerNorm(7), (2, 5, 7), id="the epsilon of a layer norm"),
    pytest.param(nn.LayerNorm([5, 7], eps=1e-3), nn.LayerNorm([5, 7]), (2, 5, 7), id="of one over two axes"),
    pytest.param(nn.GroupNorm(3, 12, eps=1e-3), nn.GroupNorm(3, 12), (2, 12, 5, 7), id="of a group norm"),
    pytest.param(nn.GroupNorm(3, 12), nn.GroupNorm(4, 12), (2, 12, 5, 7), id="the groups"),
    pytest.param(nn.BatchNorm2d(6, eps=1e-2), nn.BatchNorm2d(6), (2, 6, 5, 7), id="the epsilon of a batch norm"),
]


@pytest.mark.parametrize(("right", "wrong", "shape"), NORMS)
def test_the_advised_line_of_a_norm_is_the_norm(right, wrong, shape, tmp_path):
    generator = torch.Generator().manual_seed(7)
    for name, tensor in right.state_dict().items():
        if tensor.dim():
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + (0.1 if "var" in name else -0.5))
    wrong.load_state_dict(right.state_dict())
    x = torch.randn(shape, generator=generator)
    want = exported(right, x, tmp_path / "a.pt2")
    exported(wrong, x, tmp_path / "b.pt2")
    done = subprocess.run([CONVOY, "diff", tmp_path / "a.pt2", tmp_path / "b.pt2", "--json"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    fix = json.loads(done.stdout)["first"]["fix"]
    made = eval(fix["torch"].split("  #")[0], {"nn": nn}).eval()  # noqa: S307  convoy's own words
    made.load_state_dict(right.state_dict())
    torch.testing.assert_close(made(x), want)
    keras = pytest.importorskip("keras")
    images = x.ndim == 4
    layer = eval(fix["keras"], {"layers": keras.layers})  # noqa: S307
    given = x.numpy().transpose(0, 2, 3, 1) if images else x.numpy()
    layer.build(given.shape)
    layer.set_weights([v.numpy() for v in right.state_dict().values() if v.dim()])
    answer = np.array(layer(given))
    np.testing.assert_allclose(answer.transpose(0, 3, 1, 2) if images else answer, want.numpy(), rtol=1e-4, atol=1e-4)
