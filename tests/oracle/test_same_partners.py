"""Values that are equal though each belongs elsewhere, numbers that a reader or TensorFlow has computed, roundings that stand in
another place: a model is the same as what a framework makes of it. What differs where no output shows it differs all the same."""
import subprocess

import numpy as np
import pytest
from carrying import CONVOY, said

keras = pytest.importorskip("keras")
torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

layers = keras.layers


def causal(x):
    x = layers.Conv1D(5, 3, padding="causal", dilation_rate=2)(x)
    return layers.Conv1DTranspose(3, 4, strides=3, padding="same")(x)


def adapted(x):
    dense = layers.Dense(4)
    y = dense(x)
    dense.enable_lora(2)
    return y


def attended(tokens):
    x = layers.Embedding(7, 4, mask_zero=True)(tokens)
    return layers.Attention()([x, x])


MODELS = {  # name: shape of the input, its type, layers, policy
    "causal convolution and a transposed one": ((12, 4), "float32", causal, "float32"),
    "masked LSTM": ((7, 3), "float32", lambda x: layers.LSTM(4)(layers.Masking(0.0)(x)), "float32"),
    "masked RNN behind a layer": ((7, 3), "float32", lambda x: layers.SimpleRNN(3)(layers.Dense(4)(layers.Masking(0.0)(x))), "float32"),
    "dense over an axis of three behind slopes": ((8, 4), "float32", lambda x: layers.Dense(3)(layers.PReLU(shared_axes=[1])(x)), "float32"),
    "convolutions of sequences behind a norm": (
        (12, 4), "float32", lambda x: layers.Dense(3)(layers.Conv1D(5, 3)(layers.BatchNormalization()(x))), "float32"),
    "softmax over two axes": ((6, 4), "float32", lambda x: layers.Softmax(axis=[1, 2])(x), "float32"),
    "dense layer adapted at low rank": ((5,), "float32", adapted, "float32"),
    "head of float32 behind halves": (
        (8, 8, 3), "float32", lambda x: layers.Dense(3, dtype="float32")(layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3)(x))),
        "mixed_float16"),
    "attention behind a mask": ((6,), "int32", attended, "float32"),
}


def made(name):
    shape, dtype, body, policy = MODELS[name]
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy(policy)
    try:
        x = layers.Input(shape, dtype=dtype)
        model = keras.Model(x, body(x))
    finally:
        keras.mixed_precision.set_global_policy("float32")
    for weight in model.weights:
        weight.assign(weight + 0.2 * np.random.randn(*weight.shape))
    return model


# The converter of TensorFlow Lite writes neither the steps of a cell nor halves.
LITE = [name for name in MODELS if "masked" not in name and "halves" not in name]


@pytest.mark.parametrize("name, to", [*((name, "saved") for name in MODELS), *((name, "model.tflite") for name in LITE)])
def test_a_model_of_keras_is_what_tensorflow_makes_of_it(name, to, tmp_path):
    model = made(name)
    model.save(tmp_path / "model.keras")
    if to == "saved":
        model.export(tmp_path / to, verbose=False)
    else:
        import tensorflow as tf

        (tmp_path / to).write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())
    for files in ((tmp_path / "model.keras", tmp_path / to), (tmp_path / to, tmp_path / "model.keras")):
        code, text = said(*files)
        assert code == 0, text


def test_a_number_that_was_adapted_otherwise_is_found(tmp_path):
    model = made("dense layer adapted at low rank")
    model.save(tmp_path / "model.keras")
    bias = model.layers[-1].bias
    bias.assign(bias + [0, 1e-6, 0, 0])
    model.export(tmp_path / "saved", verbose=False)
    code, text = said(tmp_path / "model.keras", tmp_path / "saved")
    assert code == 1 and "weights_differ" in text, text


@pytest.mark.parametrize("size", [(6, 5, 4), (7, 7, 7)])
def test_an_output_that_no_layer_names_lies_as_the_inputs_do(size, tmp_path):
    """TensorFlow's product of rows leaves the channels of an image unnamed."""
    keras.utils.set_random_seed(1)
    x = layers.Input(size)
    model = keras.Model(x, layers.Dense(size[2])(layers.Conv2D(5, 3, padding="same")(x)))
    model.save(tmp_path / "model.keras")
    model.export(tmp_path / "saved", verbose=False)
    subprocess.run([str(CONVOY), "port", tmp_path / "model.keras", "-o", tmp_path / "port.onnx"], check=True, capture_output=True)
    for files in (("saved", "port.onnx"), ("port.onnx", "saved")):
        code, text = said(*(tmp_path / file for file in files))
        assert code == 0 and "output" in text, text


@pytest.mark.parametrize("activation, epsilon, is_same", [("tanh", 1e-3, True), ("softsign", 1e-3, False), ("tanh", 1e-5, False)])
@pytest.mark.parametrize("to", ["saved", "model.onnx"])
def test_a_bound_without_an_end_hides_nothing(activation, epsilon, is_same, to, tmp_path):
    """Behind recurrent cells and a norm, float32's rounding has no useful bound."""
    def net(activation, epsilon):
        x = layers.Input((6, 4))
        y = layers.GRU(4, return_sequences=True)(layers.LSTM(4, return_sequences=True)(x))
        y = layers.LayerNormalization(epsilon=epsilon)(layers.Activation(activation)(y))
        return keras.Model(x, layers.Dense(4)(layers.Flatten()(y)))

    random = np.random.default_rng(1)
    a, b = net("tanh", 1e-3), net(activation, epsilon)
    for weight in a.weights:
        weight.assign(random.standard_normal(weight.shape) * 0.4)
    b.set_weights(a.get_weights())
    a.save(tmp_path / "a.keras")
    if to == "saved":
        b.export(tmp_path / to, verbose=False)
    else:
        b.save(tmp_path / "b.keras")
        subprocess.run([str(CONVOY), "port", tmp_path / "b.keras", "-o", tmp_path / to], check=True, capture_output=True)
    for files in ((tmp_path / "a.keras", tmp_path / to), (tmp_path / to, tmp_path / "a.keras")):
        code, text = said(*files)
        assert code == (0 if is_same else 1), text


CHANGED = {  # name: layers, the kernel of which one number is changed
    "steps of a cell": (lambda x: layers.Dense(3)(layers.LSTM(6)(layers.GRU(5, return_sequences=True)(x))), "gru_cell/recurrent_kernel"),
    "product behind means": (
        lambda x: layers.Dense(4)(layers.GlobalAveragePooling1D()(layers.Activation("swish")(
            layers.BatchNormalization()(layers.SeparableConv1D(8, 3)(x))))), "dense/kernel"),
    "product behind attention": (
        lambda x: layers.Dense(3)(layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))), "dense/kernel"),
}


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("change", [0, 1e-5, 1e-3])
def test_one_number_of_a_kernel_is_found_in_a_stretch_that_is_written_otherwise(name, change, tmp_path):
    """The bound of rounding covers it, and no tensor has its partner."""
    body, path = CHANGED[name]
    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    x = layers.Input((9, 8))
    model = keras.Model(x, body(x))
    random = np.random.default_rng(4)
    for weight in model.weights:
        numbers = random.standard_normal(weight.shape) * 0.4
        weight.assign(np.abs(numbers) + 0.5 if "variance" in weight.path else numbers)
    model.save(tmp_path / "a.keras")
    kernel = next(weight for weight in model.weights if weight.path.endswith(path))
    numbers = kernel.numpy()
    numbers[2, 1] *= 1 + change
    kernel.assign(numbers)
    model.export(tmp_path / "b", verbose=False)
    for files in ((tmp_path / "a.keras", tmp_path / "b"), (tmp_path / "b", tmp_path / "a.keras")):
        code, text = said(*files)
        assert code == (1 if change else 0), text
        assert not change or "weights_differ" in text, text


class Block(nn.Sequential):
    def __init__(self, here, there, size, stride=1):
        super().__init__(nn.Conv2d(here, there, size, stride, size // 2, bias=False), nn.BatchNorm2d(there, eps=1e-3), nn.SiLU())


class Split(nn.Module):
    def __init__(self, channels, count):
        super().__init__()
        half = channels // 2
        self.cv1, self.cv2 = Block(channels, channels, 1), Block((2 + count) * half, channels, 1)
        self.m = nn.ModuleList(nn.Sequential(Block(half, half, 3), Block(half, half, 3)) for _ in range(count))

    def forward(self, x):
        parts = list(self.cv1(x).chunk(2, 1))
        for block in self.m:
            parts.append(parts[-1] + block(parts[-1]))
        return self.cv2(torch.cat(parts, 1))


class Pools(nn.Module):
    """One window over and over: on a small map, all of them give the same from some step on."""

    def __init__(self, channels, times=3):
        super().__init__()
        self.cv1, self.cv2, self.times = Block(channels, channels // 2, 1), Block(channels // 2 * 4, channels, 1), times
        self.m = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        maps = [self.cv1(x)]
        for _ in range(self.times):
            maps.append(self.m(maps[-1]))
        maps += maps[-1:] * (4 - len(maps))
        return self.cv2(torch.cat(maps, 1))


def exported(model, x, file):
    torch.export.save(torch.export.export(model.eval(), (x,)), file)
    return file


@pytest.mark.parametrize("to", ["keras", "onnx"])
def test_pools_over_one_another_stand_for_themselves(to, tmp_path):
    torch.manual_seed(0)
    net = nn.Sequential(Block(16, 24, 3, 2), Split(24, 2), Pools(24))
    x = torch.randn(2, 16, 8, 16)
    file = exported(net, x, tmp_path / "net.pt2")
    port = tmp_path / f"port.{to}"
    subprocess.run([str(CONVOY), "port", str(file), "-o", str(port), "-q", "--no-proof"], check=True)
    for files in ((file, port), (port, file)):
        code, text = said(*files)
        assert code == 0, text
    net[2].times = 2  # the third window sees more than the second
    fewer = exported(net, torch.randn(2, 16, 16, 32), tmp_path / "fewer.pt2")
    net[2].times = 3
    assert said(exported(net, torch.randn(2, 16, 16, 32), tmp_path / "all.pt2"), fewer)[0] == 1


class Stepped(nn.Module):
    """A function that targets write in steps, in front of one that jumps."""

    def __init__(self, function, jump):
        super().__init__()
        self.function, self.jump = function, jump

    def forward(self, x):
        return self.jump(self.function(x))


@pytest.mark.parametrize("to, function", [("onnx", F.gelu), ("onnx", torch.expm1), ("tflite", F.softplus), ("tflite", F.mish), ("tflite", F.selu)])
@pytest.mark.parametrize("jump", [lambda y: y.argmin(1), torch.floor, lambda y: (y > y.mean()).float()])
def test_a_function_stands_for_the_last_of_its_steps(to, function, jump, tmp_path):
    torch.manual_seed(1)
    x = torch.randn(4, 6)
    file, port = exported(Stepped(function, jump), x, tmp_path / "net.pt2"), tmp_path / f"port.{to}"
    subprocess.run([str(CONVOY), "port", str(file), "-o", str(port), "-q"], check=True)
    code, text = said(file, port)
    assert code == 0, text
    code, text = said(exported(Stepped(torch.tanh, jump), x, tmp_path / "other.pt2"), port)
    assert code == 1 and "activation_kind" in text, text


class Hidden(nn.Module):
    """A difference behind what the model in front of it never makes."""

    def __init__(self, change=None):
        super().__init__()
        torch.manual_seed(2)
        self.c, self.d, self.e = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 6, 3), nn.Conv2d(6, 4, 1)
        self.limit = 6.0
        self.c.weight.data[:2] = 0
        self.c.bias.data[:2] = -1
        if change:
            change(self)

    def forward(self, x):
        x = F.relu(self.c(torch.sigmoid(x)))
        return self.e(torch.clamp(self.d(x), 0, self.limit))


def columns_exchanged(net):
    net.d.weight.data[:, [0, 1]] = net.d.weight.data[:, [1, 0]]


def another_number(net):
    net.d.weight.data[3, 1, 0, 0] += 0.5


def another_limit(net):
    net.limit = 60.0


@pytest.mark.parametrize("change", [columns_exchanged, another_number, another_limit])
def test_what_no_output_shows_is_found(change, tmp_path):
    x = torch.rand(1, 3, 9, 11)
    a, b = Hidden().eval(), Hidden(change).eval()
    assert torch.equal(a(x), b(x))
    a, b = exported(a, x, tmp_path / "a.pt2"), exported(b, x, tmp_path / "b.pt2")
    port = tmp_path / "b.keras"
    subprocess.run([str(CONVOY), "port", str(b), "-o", str(port), "-q", "--no-proof"], check=True)
    for other in (b, port):
        code, text = said(a, other)
        assert code == 1, text


@pytest.mark.parametrize("first", ["floor", "ceil", "round"])
@pytest.mark.parametrize("second", ["floor", "ceil", "round"])
def test_halves_that_are_rounded_otherwise_are_seen_both_ways(first, second, tmp_path):
    """The one rounds nothing by itself, so that its own bound is 0: whatever differed was within it."""

    class Rounded(nn.Module):
        def __init__(self, kind):
            super().__init__()
            torch.manual_seed(7)
            self.conv, self.kind = nn.Conv2d(3, 4, 3, 1, 1), kind

        def forward(self, x):
            x = self.conv(x)
            return {"round": torch.round(x), "floor": torch.floor(x + 0.5), "ceil": torch.ceil(x - 0.5)}[self.kind]

    for name, kind in (("a", first), ("b", second)):
        torch.export.save(torch.export.export(Rounded(kind).eval(), (torch.zeros(2, 3, 9, 8),)), tmp_path / f"{name}.pt2")
    assert said(tmp_path / "a.pt2", tmp_path / "b.pt2")[0] == (first != second)


def test_what_a_signature_orders_anew_goes_by_its_names(tmp_path):
    second, first = keras.Input((6, 4), name="b"), keras.Input((6, 4), name="a")
    model = keras.Model([second, first], layers.Dense(3)(layers.Subtract()([second, layers.Dense(4)(first)])))
    model.save(tmp_path / "m.keras")
    model.export(str(tmp_path / "saved"), verbose=False)
    for pair in (("m.keras", "saved"), ("saved", "m.keras")):
        assert said(*(tmp_path / one for one in pair))[0] == 0


def test_outputs_in_a_dictionary_go_by_its_names(tmp_path):
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.Linear(5, 4), nn.Linear(5, 2)

        def forward(self, x):
            return {"cls": self.one(x), "box": self.other(x)}

    torch.export.save(torch.export.export(Heads().eval(), (torch.zeros(3, 5),)), tmp_path / "m.pt2")
    for suffix in ("keras", "tflite"):
        subprocess.run([str(CONVOY), "port", str(tmp_path / "m.pt2"), "-o", str(tmp_path / f"m.{suffix}")], check=True, capture_output=True)
    assert said(tmp_path / "m.keras", tmp_path / "m.tflite")[0] == 0


def test_a_weight_that_is_no_number_is_no_fault_of_the_port(tmp_path):
    """TensorFlow's maximum passes over it, PyTorch's hands it on."""
    x = keras.Input((6, 6, 2))
    model = keras.Model(x, layers.MaxPooling2D()(layers.Conv2D(3, 1)(x)))
    kernel, bias = model.get_weights()
    bias[1] = np.nan
    model.set_weights([kernel, bias])
    model.save(tmp_path / "m.keras")
    done = subprocess.run([str(CONVOY), "port", str(tmp_path / "m.keras"), "-o", str(tmp_path / "p.py")], capture_output=True, text=True)
    assert done.returncode == 3 and not (tmp_path / "p.py").exists(), done.stderr


class Plain(nn.Module):
    """Norms without scales and offsets, which ONNX writes as ones and zeros."""

    def __init__(self, has_bias=True, affine=False):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, bias=has_bias)
        self.norm = nn.InstanceNorm2d(4, affine=affine)

    def forward(self, x):
        return self.norm(self.conv(x).relu()).tanh()


def test_a_program_without_weights_has_no_scales_where_it_leaves_them_out(tmp_path):
    import inspect

    (tmp_path / "net.py").write_text("from torch import nn\n\n\n" + inspect.getsource(Plain))
    net, shape = f"{tmp_path}/net.py:Plain", ("--shape", "x=?,3,7,8")
    subprocess.run([str(CONVOY), "port", net, *shape, "--seed", "1", "-o", f"{tmp_path}/net.onnx", "-q"], check=True)
    code, text = said(net, tmp_path / "net.onnx", *shape)
    assert code == 0, text
    assert said(f"{net}(False)", tmp_path / "net.onnx", *shape)[0] == 1
    assert said(net, f"{net}(True, True)", *shape)[0] == 1
