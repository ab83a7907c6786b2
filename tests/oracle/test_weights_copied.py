"""`convoy weights A B --copy`: trained weights of one framework in a model that was written by hand in the other, which is
then run there, with strict names, and gives the numbers of the first."""
import subprocess

import numpy as np
import pytest
from carrying import CONVOY

BY_HAND = '''
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Conv2d(3, 6, 3, stride=2, bias=False)
        self.norm = nn.BatchNorm2d(6, eps=1e-3)
        self.each = nn.Conv2d(6, 12, 3, padding=1, groups=6)
        self.left = nn.Conv2d(12, 5, 1)
        self.right = nn.Conv2d(12, 5, 1)
        self.up = nn.ConvTranspose2d(10, 4, 2, stride=2)
        self.out = nn.Linear(4 * 8 * 12, 7)

    def forward(self, x):
        x = self.norm(self.wide(F.pad(x, (0, 1, 0, 1)))).relu()
        x = F.elu(self.each(x))
        x = torch.cat([self.right(x), self.left(x)], 1)
        x = self.up(x).permute(0, 2, 3, 1).flatten(1)
        return self.out(x)
'''


def keras_net():
    """The same network in Keras, with weights that are nothing's initial ones."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(3)
    x = image = keras.Input((8, 12, 3))
    x = layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2, activation="elu")(x)
    x = layers.Concatenate()([layers.Conv2D(5, 1)(x), layers.Conv2D(5, 1)(x)])
    x = layers.Conv2DTranspose(4, 2, strides=2)(x)
    x = layers.Dense(7)(layers.Flatten()(x))
    model = keras.Model(image, x)
    numbers = np.random.default_rng(4)
    for weight in model.weights:
        low = 0.5 if "variance" in weight.path else -1
        weight.assign(numbers.uniform(low, 1, weight.shape).astype(np.float32))
    return model


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    import torch

    folder = tmp_path_factory.mktemp("copied")
    (folder / "by_hand.py").write_text(BY_HAND)
    names = {}
    exec(BY_HAND, names)
    torch.manual_seed(5)
    net = names["Net"]().eval()
    torch.export.save(torch.export.export(net, (torch.zeros(2, 3, 8, 12),)), folder / "by_hand.pt2")
    trained = keras_net()
    trained.save(folder / "trained.keras")
    image = np.random.default_rng(6).normal(size=(2, 8, 12, 3)).astype(np.float32)
    return folder, net, trained, image


def copied(folder, a, b, out):
    done = subprocess.run([CONVOY, "weights", folder / a, str(folder / b), "--copy", "-o", folder / out],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / out


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("form", ["pt", "safetensors", "npz"])
@pytest.mark.parametrize("b", ["by_hand.pt2", "by_hand.py:Net"])
def test_a_module_written_by_hand_takes_the_weights_of_keras(models, b, form):
    import torch
    from safetensors.torch import load_file

    folder, net, trained, image = models
    file = copied(folder, "trained.keras", b, f"{b[:10].replace('.', '_')}.{form}")
    if form == "pt":
        state = torch.load(file, weights_only=True)
    elif form == "npz":
        state = {name: torch.from_numpy(array) for name, array in np.load(file).items()}
    else:
        state = load_file(file)
    wanted = trained.predict(image, verbose=0)
    x = torch.from_numpy(image).permute(0, 3, 1, 2)
    with torch.inference_mode():
        before = net(x).numpy()
        net.load_state_dict(state, strict=True)
        close(net(x).numpy(), wanted)
    assert np.abs(before - wanted).max() > 0.1
    torch.manual_seed(5)
    for module in net.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()


@pytest.mark.parametrize("form", ["keras", "weights.h5"])
def test_a_keras_model_takes_the_weights_of_a_module(models, form):
    import keras
    import torch

    folder, net, trained, image = models
    file = copied(folder, "by_hand.pt2", "trained.keras", f"back.{form}")
    if form == "keras":
        model = keras.saving.load_model(file, safe_mode=True)
    else:
        model = keras.models.clone_model(trained)
        model.load_weights(file)
    program = torch.export.load(folder / "by_hand.pt2").module()
    with torch.inference_mode():
        wanted = program(torch.from_numpy(image).permute(0, 3, 1, 2)).numpy()
    close(model.predict(image, verbose=0), wanted)


def test_a_model_that_computes_something_else_is_not_written(models):
    folder = models[0]
    (folder / "shifted.py").write_text(BY_HAND.replace("(0, 1, 0, 1)", "(1, 0, 1, 0)"))
    done = subprocess.run([CONVOY, "weights", folder / "trained.keras", f"{folder}/shifted.py:Net", "--copy", "-o",
                           folder / "shifted.pt"], capture_output=True, text=True)
    assert done.returncode == 3 and "nothing was written" in done.stderr, done.stderr
    assert not (folder / "shifted.pt").exists()


FLATTENED = '''
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3, padding=1)
        self.n = nn.LayerNorm(4)
        self.p = nn.Linear(4, 2)
        self.q = nn.Linear(2, 4)
        self.out = nn.Linear(4 * 6 * 5, 7)

    def forward(self, x):
        x = self.n(self.c(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        gate = torch.sigmoid(self.q(F.relu(self.p(x.mean((2, 3))))))
        return self.out((x * gate[:, :, None, None]).flatten(1))
'''


@pytest.fixture(scope="module")
def flattened(tmp_path_factory):
    """A value that Keras flattens with its channels last, behind a norm over them, and PyTorch with its channels first."""
    import keras
    import torch
    from keras import layers

    folder = tmp_path_factory.mktemp("flattened")
    (folder / "b.py").write_text(FLATTENED)
    names = {}
    exec(FLATTENED, names)
    torch.manual_seed(7)
    net = names["Net"]().eval()
    torch.export.save(torch.export.export(net, (torch.zeros(2, 3, 6, 5),)), folder / "b.pt2")
    keras.utils.set_random_seed(8)
    image = keras.Input((6, 5, 3))
    x = layers.LayerNormalization(epsilon=1e-5)(layers.Conv2D(4, 3, padding="same")(image))
    gate = layers.Dense(2, activation="relu")(layers.GlobalAveragePooling2D()(x))
    gate = layers.Reshape((1, 1, 4))(layers.Dense(4, activation="sigmoid")(gate))
    trained = keras.Model(image, layers.Dense(7)(layers.Flatten()(layers.Multiply()([x, gate]))))
    numbers = np.random.default_rng(9)
    for weight in trained.weights:
        weight.assign(numbers.uniform(-1, 1, weight.shape).astype(np.float32))
    trained.save(folder / "a.keras")
    return folder, net, trained, numbers.normal(size=(2, 6, 5, 3)).astype(np.float32)


def test_flattened_features_are_read_in_the_other_order(flattened):
    import keras
    import torch

    folder, net, trained, image = flattened
    x = torch.from_numpy(image).permute(0, 3, 1, 2)
    with torch.inference_mode():
        own = net(x).numpy()
    model = keras.saving.load_model(copied(folder, "b.pt2", "a.keras", "back.keras"), safe_mode=True)
    close(model.predict(image, verbose=0), own)
    table = subprocess.run([CONVOY, "weights", folder / "b.pt2", folder / "a.keras"], capture_output=True, text=True)
    assert "reshape(7, 4, 30), permute(2, 1, 0), reshape(120, 7)" in table.stdout
    wanted = trained.predict(image, verbose=0)
    for b in ("b.pt2", "b.py:Net"):
        net.load_state_dict(torch.load(copied(folder, "a.keras", b, f"{b[2:4]}.pt"), weights_only=True), strict=True)
        with torch.inference_mode():
            close(net(x).numpy(), wanted)
        for module in net.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
