"""`convoy diff 'CALL' 'CALL'` of calls without windows: the verdict is that of both frameworks' own numbers."""
import json
import subprocess

import numpy as np
import pytest
from carrying import CONVOY

torch = pytest.importorskip("torch")
keras = pytest.importorskip("keras")

# a, b, cause ("" where they are the same)
PAIRS = [
    ("nn.GELU()", 'layers.Activation("gelu")', ""),
    ('nn.GELU(approximate="tanh")', 'layers.Activation("gelu")', "activation_variant"),
    ("nn.LeakyReLU()", "layers.LeakyReLU()", "activation_slope"),
    ("nn.LeakyReLU(0.3)", "layers.LeakyReLU()", ""),
    ("nn.ReLU6()", "layers.ReLU(max_value=6)", ""),
    ("nn.ReLU()", "layers.ReLU(max_value=6)", "activation_limit"),
    ("nn.Hardsigmoid()", 'layers.Activation("hard_sigmoid")', ""),
    ("nn.Softmax(dim=1)", "layers.Softmax()", ""),
    ("nn.Softmax(dim=2)", "layers.Softmax()", "softmax_axis"),
    ("nn.LayerNorm(6)", "layers.LayerNormalization()", "norm_eps"),
    ("nn.LayerNorm(6, eps=1e-3)", "layers.LayerNormalization()", ""),
    ("nn.BatchNorm2d(6)", "layers.BatchNormalization()", "bn_eps"),
    ("nn.BatchNorm2d(6, eps=1e-3)", "layers.BatchNormalization()", ""),
    ("nn.GroupNorm(2, 6)", "layers.GroupNormalization(2, epsilon=1e-5)", ""),
    ("nn.GroupNorm(3, 6)", "layers.GroupNormalization(2, epsilon=1e-5)", "norm_groups"),
    ("nn.Upsample(scale_factor=2)", "layers.UpSampling2D(2)", ""),
    ('nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)', 'layers.UpSampling2D(2, interpolation="bilinear")',
     "align_corners"),
    ("nn.Flatten()", "layers.Flatten()", "flatten_order"),
    ("nn.ReflectionPad2d((1, 2, 0, 1))", "layers.ZeroPadding2D(((0, 1), (1, 2)))", "pad_mode"),
    ("nn.ZeroPad2d((1, 2, 0, 1))", "layers.ZeroPadding2D(((0, 1), (1, 2)))", ""),
    ("nn.PReLU(6, init=0.1)", "layers.PReLU(shared_axes=[1, 2])", ""),
    ("nn.Linear(4, 6)", "layers.Dense(6)", ""),
    ("nn.Linear(4, 6)", 'layers.Dense(6, activation="relu")', "activation_extra"),
    ("nn.Embedding(10, 6)", "layers.Embedding(10, 6)", ""),
    ("nn.LSTM(4, 6, batch_first=True)", "layers.LSTM(6, return_sequences=True)", ""),
]  # fmt: skip
SHAPES = {"nn.LayerNorm": (2, 5, 6), "nn.Linear": (2, 5, 4), "nn.LSTM": (2, 5, 4)}


def compared(a, b, *words):
    done = subprocess.run([CONVOY, "diff", a, b, *words, "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0, json.loads(done.stdout)


def in_torch(call, x):
    layer = eval(call, {"nn": torch.nn}).eval()  # noqa: S307  written above
    with torch.no_grad():
        y = layer(torch.from_numpy(x))
    return layer, (y[0] if isinstance(y, tuple) else y).numpy()


def last(x):
    return np.moveaxis(x, 1, -1) if x.ndim == 4 else x


@pytest.mark.parametrize(("a", "b", "cause"), PAIRS)
def test_the_verdict_is_that_of_the_frameworks(a, b, cause):
    rng = np.random.default_rng(4)
    shape = next((s for name, s in SHAPES.items() if a.startswith(name)), (2, 6, 5, 7))
    x = rng.integers(0, 10, (2, 7)) if "Embedding" in a else rng.normal(0, 4, shape).astype(np.float32)
    layer, want = in_torch(a, x)
    other = eval(b, {"layers": keras.layers})  # noqa: S307
    other.build(last(x).shape)
    state = {name: tensor.numpy() for name, tensor in layer.state_dict().items()}
    for weight in other.weights:  # a fresh norm changes nothing; these learn otherwise from the start
        if "prelu" in weight.path or "p_re_lu" in weight.path or "PReLU" in b:
            weight.assign(np.full(weight.shape, 0.1, np.float32))
        elif "LSTM" in b or "Dense" in b or "Embedding" in b:
            name = {"kernel": "weight", "recurrent_kernel": "weight_hh_l0", "embeddings": "weight"}.get(weight.name, "bias")
            if "LSTM" in b:
                name = {"kernel": "weight_ih_l0", "recurrent_kernel": "weight_hh_l0"}.get(weight.name)
            number = state[name] if name else state["bias_ih_l0"] + state["bias_hh_l0"]
            weight.assign(number.T if "kernel" in weight.name else number)
    got = np.asarray(other(last(x)))
    is_same = got.shape == last(want).shape and np.allclose(got, last(want), atol=2e-6, rtol=1e-5)
    if a.startswith("nn.Flatten"):
        is_same = np.array_equal(got, want)
    same, found = compared(a, b)
    assert same == (cause == "") and [one["cause"] for one in found["differences"]] == [cause] * (not same), found["differences"]
    if "BatchNorm" not in a:  # fresh statistics hide what drawn ones show
        assert is_same == same, "the frameworks say otherwise"


def test_a_layer_that_names_another_axis_of_channels_is_no_equal():
    done = subprocess.run([CONVOY, "diff", "nn.BatchNorm2d(6, eps=1e-3)", "layers.BatchNormalization(axis=1)"], capture_output=True, text=True)
    assert done.returncode == 2 and "channels first" in done.stderr


GELUS = [("layers.Activation(keras.ops.gelu)", False), ("layers.Activation(keras.activations.gelu)", True),
         ("layers.Activation(tf.nn.gelu)", True), ("layers.Activation('gelu')", True), ("keras.ops.gelu(x)", False)]  # fmt: skip


@pytest.mark.parametrize(("call", "is_exact"), GELUS)
def test_the_gelu_of_ops_is_another_than_the_activation(call, is_exact):
    assert compared(call, "F.gelu(x)")[0] == is_exact
    assert compared(call, 'F.gelu(x, approximate="tanh")')[0] != is_exact


FIRST_NUMBERS = [("nn.ChannelShuffle(2)", "nn.Identity()"), ("nn.Softmax(1)", "F.softmin(x, 1)"), ("nn.Softmin(1)", "layers.Softmax()"),
                 ("torch.pow(x, 3)", "tf.pow(x, 2.)"), ("tf.multiply(x, 3.)", "tf.multiply(x, 2.)")]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), FIRST_NUMBERS)
def test_a_number_of_the_call_is_no_number_of_channels(a, b):
    assert not compared(a, b)[0]


ONE_AXIS = [("nn.ConstantPad1d(2, 0.)", "layers.ZeroPadding1D(2)"), ("nn.Upsample(scale_factor=2)", "layers.UpSampling1D(2)"),
            ("nn.BatchNorm1d(6, eps=1e-3)", "layers.BatchNormalization()"), ("F.softmax(2 * x, 1)", "tf.nn.softmax(x + x)")]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), ONE_AXIS)
def test_channels_beside_one_axis_lie_as_the_frameworks_have_them(a, b):
    assert compared(a, b)[0] and compared(b, a)[0]


def test_the_input_is_the_one_that_is_said():
    same, found = compared("nn.Softmax(dim=1)", "layers.Softmax()", "--shape", "2,3")
    assert same and found["input_a"] == found["input_b"] == "[2, 3]"
    same, found = compared("nn.Softmax(dim=1)", "layers.Softmax()", "--shape", "2,3,4")  # a sequence lies alike in both
    assert not same and found["input_b"] == "[2, 3, 4]"
    same, found = compared("nn.Softmax(dim=1)", "layers.Softmax()", "--channels", "3", "--size", "4x5")
    assert same and (found["input_a"], found["input_b"]) == ("[2, 3, 4, 5]", "[2, 4, 5, 3]")
