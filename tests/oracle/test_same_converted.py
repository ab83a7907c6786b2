"""A model is the same as what torch.onnx and TensorFlow's converters make of it, and as its own port: branches that are read alike
apart, cells called in a loop, one layer called several times, and steps taken into the layer in front of them."""
import inspect
import subprocess

import numpy as np
import pytest
from carrying import CONVOY, said

keras = pytest.importorskip("keras")
torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

layers = keras.layers


def assert_same(*files):
    for pair in (files, files[::-1]):
        code, text = said(*pair)
        assert code == 0, text


class RootNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def halves(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def neighbours(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


class Rotary(nn.Module):
    """Queries and keys go through the same steps with the same numbers."""

    def __init__(self, turn, heads, groups=None, channels=16):
        super().__init__()
        self.turn, self.heads, self.groups, self.size = turn, heads, groups or heads, channels // heads
        held = self.groups * self.size
        self.n, self.q = RootNorm(channels), nn.Linear(channels, channels, bias=False)
        self.k, self.v = nn.Linear(channels, held, bias=False), nn.Linear(channels, held, bias=False)
        self.gate, self.up, self.down = nn.Linear(channels, 12), nn.Linear(channels, 12), nn.Linear(12, channels)
        self.register_buffer("rate", 1 / 100 ** (torch.arange(0, self.size, 2) / self.size))

    def forward(self, x):
        count = x.shape[1]
        angle = torch.outer(torch.arange(count).float(), self.rate)
        angle = torch.cat((angle, angle), -1) if self.turn is halves else angle.repeat_interleave(2, -1)
        y = self.n(x)
        q, k, v = (f(y).unflatten(2, (-1, self.size)).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = (z * angle.cos() + self.turn(z) * angle.sin() for z in (q, k))
        k, v = (z.repeat_interleave(self.heads // self.groups, 1) for z in (k, v))
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


class Walked(nn.Module):
    """A cell called in a loop."""

    def __init__(self, cell, every=1, turned=False):
        super().__init__()
        self.cell, self.every, self.turned, self.out = cell(4, 5), every, turned, nn.Linear(5, 2)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 5)
        if isinstance(self.cell, nn.LSTMCell):
            h = h, h
        all = []
        for t in range(x.shape[1]):
            h = self.cell(x[:, -1 - t if self.turned else t], h)
            if t % self.every == 0:
                all.append(self.out(h[0] if isinstance(h, tuple) else h))
        return torch.stack(all, 1)


class Between(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.before, self.f, self.after = nn.Conv2d(3, 4, 3), function, nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.f(self.after(self.f(self.before(x))))


TORCH = {
    "one head that is turned": (lambda: Rotary(halves, 1), (2, 5, 16)),
    "heads that are turned": (lambda: Rotary(halves, 4), (2, 5, 16)),
    "heads turned by neighbours": (lambda: Rotary(neighbours, 2), (2, 5, 16)),
    "keys for several heads": (lambda: Rotary(halves, 4, 2), (2, 5, 16)),
    "a gated cell": (lambda: Walked(nn.GRUCell, 2), (3, 5, 4)),
    "a gated cell from behind": (lambda: Walked(nn.GRUCell, turned=True), (3, 5, 4)),
    "a cell with a memory": (lambda: Walked(nn.LSTMCell), (3, 5, 4)),
    "a plain cell": (lambda: Walked(nn.RNNCell), (3, 5, 4)),
    "softplus": (lambda: Between(nn.Softplus()), (2, 3, 7, 9)),
    "softplus, steeper": (lambda: Between(nn.Softplus(beta=2)), (2, 3, 7, 9)),
    "softplus, flatter": (lambda: Between(nn.Softplus(beta=0.3)), (2, 3, 7, 9)),
    "softplus with a threshold that shows": (lambda: Between(nn.Softplus(beta=2, threshold=3)), (2, 3, 7, 9)),
}


def exported(name, folder):
    make, shape = TORCH[name]
    torch.manual_seed(5)
    model, x = make().eval(), torch.randn(shape)
    torch.export.save(torch.export.export(model, (x,)), folder / "m.pt2")
    return model, x


# The older exporter crashes on the one, and knows no threshold.
OLDER = [name for name in TORCH if "neighbours" not in name and "threshold" not in name]


@pytest.mark.parametrize("name, as_program", [*((name, True) for name in TORCH), *((name, False) for name in OLDER)])
def test_a_model_of_pytorch_is_what_its_exporter_makes_of_it(name, as_program, tmp_path):
    model, x = exported(name, tmp_path)
    if as_program:
        pytest.importorskip("onnxscript")
    torch.onnx.export(model, (x,), str(tmp_path / "m.onnx"), dynamo=as_program, verbose=False, opset_version=18)
    assert_same(tmp_path / "m.pt2", tmp_path / "m.onnx")


@pytest.mark.parametrize("cell, every", [("GRUCell", 2), ("GRUCell", 1), ("LSTMCell", 2), ("RNNCell", 2)])
def test_a_cell_in_a_loop_is_what_its_source_says(cell, every, tmp_path):
    torch.manual_seed(5)
    model = Walked(getattr(nn, cell), every).eval()
    torch.save(model.state_dict(), tmp_path / "m.pth")
    head = "import torch\nfrom torch import nn\n\n\n"
    tail = f"\n\nclass Net(Walked):\n    def __init__(self):\n        super().__init__(nn.{cell}, {every})\n"
    (tmp_path / "m.py").write_text(head + inspect.getsource(Walked) + tail)
    torch.onnx.export(model, (torch.randn(3, 5, 4),), str(tmp_path / "m.onnx"), dynamo=False, opset_version=18)
    code, text = said(tmp_path / "m.onnx", f"{tmp_path / 'm.py'}:Net", "--weights-b", tmp_path / "m.pth")
    assert code == 0, text
    code, text = said(f"{tmp_path / 'm.py'}:Net", tmp_path / "m.onnx", "--weights-a", tmp_path / "m.pth")
    assert code == 0, text


@pytest.mark.parametrize("to", ["keras", "onnx", "tflite"])
@pytest.mark.parametrize("name", TORCH)
def test_a_model_of_pytorch_is_its_port(name, to, tmp_path):
    exported(name, tmp_path)
    done = subprocess.run([str(CONVOY), "port", str(tmp_path / "m.pt2"), "-o", str(tmp_path / f"m.{to}"), "-q"], capture_output=True, text=True)
    if done.returncode == 6:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "m.pt2", tmp_path / f"m.{to}")


def squeezed(x, activation, kept=True):
    """Channels weighted by what the whole image says of them."""
    count = x.shape[-1]
    y = layers.GlobalAveragePooling2D(keepdims=kept)(x)
    y = y if kept else layers.Reshape((1, 1, count))(y)
    y = layers.Conv2D(3, 1, activation="relu")(y) if kept else layers.Dense(3, activation="relu")(y)
    y = layers.Conv2D(count, 1, activation=activation)(y) if kept else layers.Dense(count, activation=activation)(y)
    return layers.Multiply()([x, y])


def normed(x, act):
    return layers.Activation(act)(layers.BatchNormalization(epsilon=2e-5)(x))


def separable(x):
    for stride in (1, 2):
        y = normed(layers.SeparableConv2D(5, 3, strides=stride, padding="same")(x), "swish")
        x = layers.Add()([layers.Conv2D(5, 1, strides=stride)(x), squeezed(y, "hard_sigmoid", stride == 1)])
    return layers.Dense(3, activation="softmax")(layers.GlobalMaxPooling2D()(x))


def sloped(x):
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(4, 3, padding="same", strides=2)(x))
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(5, 3, padding="same", dilation_rate=2)(x))
    return layers.LayerNormalization()(layers.Dense(4)(layers.Flatten()(x)))


def shared(times):
    def body(x, y):
        dense, out = layers.Dense(5, activation="relu"), layers.Dense(2)
        apart = out(layers.Subtract()([dense(x), dense(y)]))
        return layers.Concatenate()([apart, *(layers.Dot(1, normalize=True)([dense(x), dense(y)]) for _ in range(times))])
    return body


KERAS = {  # shapes of the inputs, layers
    "a hard sigmoid": ([(6,)], lambda x: layers.Dense(3, activation="hard_sigmoid")(layers.Dense(4)(x))),
    "a hard sigmoid behind an image": ([(8, 6, 3)], lambda x: layers.Conv2D(4, 3, activation="hard_sigmoid")(x)),
    "a hard swish": ([(8, 6, 3)], lambda x: layers.Conv2D(2, 1)(normed(layers.Conv2D(4, 3)(x), "hard_silu"))),
    "a hard swish behind channels": ([(8, 6, 3)], lambda x: layers.Conv2D(2, 1)(normed(layers.DepthwiseConv2D(3)(x), "hard_silu"))),
    "a hard sigmoid behind a norm": ([(8, 6, 3)], lambda x: normed(layers.Conv2D(4, 3)(x), "hard_sigmoid")),
    "relu6 behind a norm": ([(8, 6, 3)], lambda x: normed(layers.Conv2D(4, 3)(x), "relu6")),
    "squeezed images": ([(8, 6, 3)], lambda x: squeezed(layers.Conv2D(6, 3)(x), "hard_sigmoid")),
    "squeezed images through layers": ([(8, 6, 3)], lambda x: squeezed(layers.Conv2D(6, 3)(x), "hard_sigmoid", False)),
    "separable convolutions": ([(12, 10, 3)], separable),
    "a norm behind a dense layer": ([(6,)], lambda x: layers.Dense(3)(normed(layers.Dense(5)(x), "tanh"))),
    "a norm behind a transposed convolution": ([(5, 6, 3)], lambda x: normed(layers.Conv2DTranspose(4, 3, strides=2)(x), "elu")),
    "slopes and dilation": ([(9, 9, 2)], sloped),
    "one layer for two inputs": ([(4,), (4,)], shared(1)),
    "one layer for two inputs, over and over": ([(4,), (4,)], shared(3)),
}


@pytest.mark.parametrize("name", KERAS)
def test_a_model_of_keras_is_what_tensorflow_makes_of_it(name, tmp_path):
    import tensorflow as tf

    shapes, body = KERAS[name]
    keras.utils.set_random_seed(1)
    inputs = [keras.Input(shape, name="xy"[i]) for i, shape in enumerate(shapes)]
    model = keras.Model(inputs, body(*inputs))
    random = np.random.default_rng(4)
    for weight in model.weights:
        drawn = random.random(weight.shape) + 0.3 if "variance" in weight.path else random.standard_normal(weight.shape) * 0.4
        weight.assign(drawn.astype("float32"))
    kept, saved, light = (tmp_path / file for file in ("m.keras", "saved", "m.tflite"))
    model.save(kept)
    model.export(saved, verbose=False)
    light.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(saved)).convert())
    for pair in ((kept, saved), (kept, light), (saved, light)):
        assert_same(*pair)
    for source, to in ((kept, "py"), (saved, "onnx")):
        port = tmp_path / f"port.{to}"
        subprocess.run([str(CONVOY), "port", str(source), "-o", str(port), "-q"], check=True, capture_output=True)
        assert_same(light, port)


def test_outputs_go_by_the_numbers_in_a_signature(tmp_path):
    """TensorFlow's converter lists the outputs in another order than the model's; a port of its file keeps that one."""
    import tensorflow as tf

    keras.utils.set_random_seed(1)
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    dense = layers.Dense(5, activation="relu")
    model = keras.Model([x, y], [layers.Dense(2)(layers.Subtract()([dense(x), dense(y)])), layers.Dot(1, normalize=True)([dense(x), dense(y)])])
    kept, saved, light, port = (tmp_path / file for file in ("m.keras", "saved", "m.tflite", "port.py"))
    model.save(kept)
    model.export(saved, verbose=False)
    light.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(saved)).convert())
    interpreter = tf.lite.Interpreter(model_content=light.read_bytes())
    assert [list(output["shape"]) for output in interpreter.get_output_details()] == [[1, 1], [1, 2]]
    for pair in ((kept, saved), (kept, light), (saved, light)):
        assert_same(*pair)
    subprocess.run([str(CONVOY), "port", str(light), "-o", str(port), "-q"], check=True, capture_output=True)
    assert_same(light, port)
    assert said(kept, port)[0] == 1
