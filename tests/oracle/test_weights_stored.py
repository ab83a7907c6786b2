"""`convoy weights A B --copy` into modules that compute with other tensors than they store: what was written is loaded there,
with strict names, and gives the numbers of the first model."""
import importlib.util
import subprocess

import numpy as np
import pytest
from carrying import CONVOY

HEAD = '''
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
'''


def dense():
    from keras import layers

    return [layers.Dense(4, use_bias=False)], (6,)


def convolution():
    from keras import layers

    return [layers.Conv2D(5, 3, padding="same", use_bias=False)], (6, 7, 4)


def two_dense():
    from keras import layers

    return [layers.Dense(6, use_bias=False, activation="relu"), layers.Dense(4, use_bias=False)], (6,)


def module(init, forward):
    return HEAD + "".join(f"        {line}\n" for line in init) + f"\n    def forward(self, x):\n        return {forward}\n"


# A network of Keras, and the same module as it computes with what it stores.
STORED = {
    "a_product_with_a_transpose": (dense, module(["self.w = nn.Parameter(torch.randn(4, 6))"], "x @ self.w.t()")),
    "a_linear_of_a_transpose": (dense, module(["self.w = nn.Parameter(torch.randn(6, 4))"], "F.linear(x, self.w.mT)")),
    "turned_and_squeezed": (dense, module(["self.w = nn.Parameter(torch.randn(4, 1, 6))"],
                                          "x @ self.w.permute(1, 2, 0).squeeze(0)")),
    "another_shape": (dense, module(["self.w = nn.Parameter(torch.randn(24))"], "F.linear(x, self.w.view(4, 6))")),
    "a_permuted_kernel": (convolution, module(["self.w = nn.Parameter(torch.randn(3, 3, 4, 5))"],
                                              "F.conv2d(x, self.w.permute(3, 2, 0, 1), padding=1)")),
    "turned_there_and_on": (convolution, module(["self.w = nn.Parameter(torch.randn(4, 3, 5, 3))"],
                                                "F.conv2d(x, self.w.transpose(1, 3).permute(2, 0, 3, 1), padding=1)")),
    "a_buffer_that_is_kept": (convolution, module(
        ["self.c = nn.Conv2d(4, 5, 3, padding=1, bias=False)", "self.unused = nn.Linear(2, 2)",
         "self.register_buffer('mean', torch.zeros(1, 4, 1, 1))", "self.register_buffer('std', torch.ones(1, 4, 1, 1))",
         "self.register_buffer('steps', torch.tensor(3))"], "self.c((x - self.mean) / self.std)")),
}


def trained(made, folder):
    import keras

    keras.utils.set_random_seed(1)
    layers, shape = made()
    model = keras.Sequential([keras.Input(shape), *layers])
    numbers = np.random.default_rng(2)
    for weight in model.weights:
        low = 0.5 if "variance" in weight.path else -1
        weight.assign(numbers.uniform(low, 1, weight.shape).astype(np.float32))
    model.save(folder / "a.keras")
    return model, shape


def net_of(text, folder):
    (folder / "b.py").write_text(text)
    spec = importlib.util.spec_from_file_location("b", folder / "b.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made.Net().eval()


def exported(net, shape, folder):
    import torch

    x = torch.zeros(2, *((shape[-1], *shape[:-1]) if len(shape) > 1 else shape))
    torch.export.save(torch.export.export(net, (x,)), folder / "b.pt2")


def copy(folder, b, *more):
    return subprocess.run([CONVOY, "weights", folder / "a.keras", f"{folder}/{b}", "--copy", "-f", "-o",
                           folder / "out.pt", *more], capture_output=True, text=True)


def answers_alike(model, net, shape):
    import torch

    image = np.random.default_rng(3).normal(size=(2, *shape)).astype(np.float32)
    wanted = np.asarray(model(image))
    x = torch.from_numpy(image).movedim(-1, 1)
    with torch.inference_mode():
        got = net(x).movedim(1, -1).numpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def copied(made, text, b, tmp_path):
    """The module of `text` with what was copied into it, answering as the Keras model does."""
    import torch

    model, shape = trained(made, tmp_path)
    net = net_of(text, tmp_path)
    exported(net, shape, tmp_path)
    done = copy(tmp_path, b)
    assert done.returncode == 0, done.stderr
    net.load_state_dict(torch.load(tmp_path / "out.pt", weights_only=True), strict=True)
    answers_alike(model, net, shape)
    return net


@pytest.mark.parametrize("b", ["b.pt2", "b.py:Net"])
@pytest.mark.parametrize("name", list(STORED))
def test_a_tensor_goes_back_as_it_is_stored(tmp_path, name, b):
    import torch

    made, text = STORED[name]
    net = copied(made, text, b, tmp_path)
    for name, buffer in net.named_buffers():
        assert torch.equal(buffer, net_of(text, tmp_path).get_buffer(name))


@pytest.mark.parametrize("b", ["b.pt2", "b.py:Net"])
def test_one_tensor_read_in_two_orders_takes_one_layer_alone(tmp_path, b):
    _, shape = trained(two_dense, tmp_path)
    net = net_of(module(["self.w = nn.Parameter(torch.randn(6, 4))", "self.v = nn.Parameter(torch.randn(6, 6))"],
                        "F.relu(x @ self.v.t()) @ self.v @ self.w"), tmp_path)
    exported(net, shape, tmp_path)
    assert copy(tmp_path, b).returncode == 3


def convolution_and_norm(**options):
    from keras import layers

    return [layers.Conv2D(5, 3, padding="same", use_bias=False), layers.BatchNormalization(**options)], (6, 7, 4)


def prelu():
    from keras import layers

    return [layers.Conv2D(5, 3, padding="same"), layers.PReLU(shared_axes=[1, 2])], (6, 7, 4)


NORMED = module(["self.c = nn.Conv2d(4, 5, 3, padding=1, bias=False)", "self.b = nn.BatchNorm2d(5, eps=1e-3)"],
                "self.b(self.c(x))")
BENT = module(["self.c = nn.Conv2d(4, 5, 3, padding=1)", "self.a = nn.PReLU(5)"], "self.a(self.c(x))")
LEFT_OUT = [{"scale": False}, {"center": False}, {"scale": False, "center": False}]


@pytest.mark.parametrize("b", ["b.pt2", "b.py:Net"])
@pytest.mark.parametrize("options", LEFT_OUT, ids=str)
def test_scales_and_offsets_that_a_norm_leaves_out_are_ones_and_zeros(tmp_path, options, b):
    import torch

    model, shape = trained(lambda: convolution_and_norm(**options), tmp_path)
    net = net_of(NORMED, tmp_path)
    with torch.no_grad():
        net.b.weight.uniform_(2, 3), net.b.bias.uniform_(2, 3)
    exported(net, shape, tmp_path)
    done = copy(tmp_path, b)
    assert done.returncode == 0, done.stderr
    net.load_state_dict(torch.load(tmp_path / "out.pt", weights_only=True), strict=True)
    answers_alike(model, net, shape)


@pytest.mark.parametrize("options, word", [({"scale": False}, "gamma"), ({"center": False}, "beta")], ids=str)
def test_a_norm_that_leaves_them_out_takes_ones_and_zeros_alone(tmp_path, options, word):
    import keras
    import torch

    _, shape = trained(lambda: convolution_and_norm(**options), tmp_path)
    net = net_of(NORMED, tmp_path)
    command = [CONVOY, "weights", tmp_path / "b.pt2", tmp_path / "a.keras", "--copy", "-f", "-o", tmp_path / "out.keras"]
    exported(net, shape, tmp_path)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers_alike(keras.saving.load_model(tmp_path / "out.keras"), net, shape)
    with torch.no_grad():
        net.b.weight[1], net.b.bias[1] = 2, 1
    exported(net, shape, tmp_path)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 3 and "layer 'b' of a has" in done.stderr and f"({word})" in done.stderr, done.stderr


def prelu_behind_a_norm():
    from keras import layers

    return [layers.Conv2D(5, 3, padding="same"), layers.LayerNormalization(epsilon=1e-5),
            layers.PReLU(shared_axes=[1, 2])], (6, 7, 4)


BENT_BEHIND_A_NORM = module(
    ["self.c = nn.Conv2d(4, 5, 3, padding=1)", "self.n = nn.LayerNorm(5)", "self.a = nn.PReLU(5)"],
    "self.a(self.n(self.c(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2))")


@pytest.mark.parametrize("b", ["b.pt2", "b.py:Net"])
@pytest.mark.parametrize("made, text", [(prelu, BENT), (prelu_behind_a_norm, BENT_BEHIND_A_NORM)])
def test_slopes_that_are_all_equal_are_weights_too(tmp_path, made, text, b):
    copied(made, text, b, tmp_path)


PARAMETRIZED = ["nn.utils.weight_norm(CONV)", "nn.utils.parametrizations.weight_norm(CONV)",
                "nn.utils.spectral_norm(CONV)", "nn.utils.parametrizations.spectral_norm(CONV)"]


@pytest.mark.parametrize("b", ["b.pt2", "b.py:Net"])
@pytest.mark.parametrize("line", PARAMETRIZED)
def test_a_weight_that_is_computed_from_others_is_refused(tmp_path, line, b):
    _, shape = trained(convolution, tmp_path)
    line = line.replace("CONV", "nn.Conv2d(4, 5, 3, padding=1, bias=False)")
    net = net_of(module([f"self.c = {line}"], "self.c(x)"), tmp_path)
    if b == "b.pt2":
        exported(net, shape, tmp_path)
    done = copy(tmp_path, b)
    # Exported, a spectral norm is a product that the program computes: nothing of Keras stands for it.
    assert done.returncode == (3 if b == "b.pt2" and "spectral" in line else 6), done.stderr
    assert "parametrization" in done.stderr or done.returncode == 3
    assert not (tmp_path / "out.pt").exists()
