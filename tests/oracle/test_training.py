"""A port goes on learning where its source stopped: one training step agrees with Keras.

One thing differs, by the frameworks' own rules: the running variance. Both normalise a batch with the biased variance
(divided by n); PyTorch moves the *unbiased* one (divided by n - 1) into running_var, Keras the biased one into
moving_variance. The test undoes exactly that factor and allows nothing else.
"""
import inspect
import json

import numpy as np
import pytest
from carrying import convoy, port

RATE = 0.05


def network(keras):
    """Unlike sizes on every axis; dropout 0, because the two frameworks draw differently."""
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((9, 6, 3), name="image"),
            layers.Conv2D(5, 3, strides=2, padding="same", activation="relu", name="down"),
            layers.BatchNormalization(name="norm"),
            layers.MaxPooling2D((3, 2), strides=(1, 2), padding="same", name="pool"),
            layers.DepthwiseConv2D(2, padding="same", name="depthwise"),
            layers.BatchNormalization(momentum=0.9, epsilon=1e-4, name="norm_again"),
            layers.Dropout(0.0, name="drop"),
            layers.Flatten(name="flat"),
            layers.Dense(4, name="out"),
        ],
        name="learner",
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The Keras model before the step, its port, and a batch."""
    import keras

    keras.utils.set_random_seed(5)
    random = np.random.default_rng(5)
    model = network(keras)
    model.set_weights([w + random.uniform(0.05, 0.3, w.shape).astype(w.dtype) for w in model.get_weights()])
    folder = tmp_path_factory.mktemp("learner")
    model.save(folder / "learner.keras")
    x = random.standard_normal((7, 9, 6, 3)).astype(np.float32)
    y = random.integers(0, 4, 7)
    return model, port([folder / "learner.keras"], folder / "learner.py"), x, y


def test_frozen_norms_keep_to_their_averages(tmp_path):
    """In Keras they do so in training too; PyTorch's own would take those of the batch."""
    import keras
    import torch

    keras.utils.set_random_seed(6)
    model = network(keras)
    random = np.random.default_rng(6)
    model.set_weights([w + random.uniform(0.05, 0.3, w.shape).astype(w.dtype) for w in model.get_weights()])
    model.get_layer("norm").trainable = False
    model.save(tmp_path / "frozen.keras")
    ported = port([tmp_path / "frozen.keras"], tmp_path / "frozen.py")
    x = random.standard_normal((7, 9, 6, 3)).astype(np.float32)
    before = {name: value.clone() for name, value in ported.model.state_dict().items()}
    with torch.no_grad():
        got = ported.model.train()(torch.from_numpy(ported.inputs[0].to_port(x)))
    np.testing.assert_allclose(got, model(x, training=True), atol=2e-5)
    moved = {name for name, value in ported.model.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == {f"norm_again.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")}
    assert not ported.model.norm.training and ported.model.norm_again.training
    assert not ported.model.eval().norm_again.training


def test_one_step_agrees_in_loss_weights_and_running_statistics(both):
    import keras
    import tensorflow as tf
    import torch

    model, ported, x, y = both
    learner = ported.model.train()
    before = {name: value.clone() for name, value in learner.state_dict().items()}

    def keras_loss(training):
        return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, model(x, training=training), from_logits=True))

    with tf.GradientTape() as tape:
        loss = keras_loss(True)
    gradients = tape.gradient(loss, model.trainable_variables)
    keras.optimizers.SGD(RATE).apply(gradients, model.trainable_variables)

    tx, ty = torch.from_numpy(ported.inputs[0].to_port(x)), torch.from_numpy(y)
    steps = torch.optim.SGD(learner.parameters(), RATE)
    torch_loss = torch.nn.functional.cross_entropy(learner(tx), ty)
    torch_loss.backward()
    steps.step()
    assert torch_loss.item() == pytest.approx(float(loss), rel=1e-5)

    norms = [(name, m) for name, m in learner.named_modules() if isinstance(m, torch.nn.BatchNorm2d)]
    theirs = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    assert len(norms) == len(theirs) == 2
    for (name, norm), layer in zip(norms, theirs):
        assert norm.running_mean.numpy() == pytest.approx(np.asarray(layer.moving_mean), rel=1e-4, abs=1e-6)
        keep = 1 - norm.momentum
        old = before[f"{name}.running_var"].numpy()
        cells = 7 * np.prod({"norm": (5, 3), "norm_again": (5, 2)}[layer.name])
        batch = (norm.running_var.numpy() - keep * old) * (cells - 1) / cells
        assert keep * old + batch == pytest.approx(np.asarray(layer.moving_variance), rel=1e-4, abs=1e-6)

    # Every weight took the same step: the loss after it agrees, in training and in inference.
    with torch.no_grad():
        after = torch.nn.functional.cross_entropy(learner(tx), ty)
    assert float(after) == pytest.approx(float(keras_loss(True)), rel=1e-5)
    assert float(after) < torch_loss.item()


def test_what_acts_in_training_and_is_not_carried_is_said(tmp_path):
    import keras

    layers = keras.layers
    x = keras.Input((5, 4))
    y = layers.MultiHeadAttention(2, 3, dropout=0.5, name="looks")(x, x)
    y = layers.LSTM(3, return_sequences=True, recurrent_dropout=0.2, name="steps")(y)
    y = layers.SpectralNormalization(layers.Dense(4), name="bounded")(layers.Dropout(0.3, noise_shape=(1, 5, 3), name="rows")(y))
    keras.Model(x, y).save(tmp_path / "m.keras")
    told = convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.py").stdout
    for words in ("dropout of 'looks'", "recurrent_dropout of 'steps'", "noise_shape of 'rows'", "normalisation of 'bounded'"):
        assert words in told


def partly_frozen():
    """A layer that stands still, one whose bias alone does, a parameter and a buffer. Unlike sizes on every axis."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.still, self.mid, self.free = nn.Linear(4, 5), nn.Linear(5, 3), nn.Linear(3, 2)
            self.norm = nn.BatchNorm1d(3)
            self.scale = nn.Parameter(torch.tensor([2.0, 3.0]), requires_grad=False)
            self.shift = nn.Parameter(torch.tensor([1.0, 4.0]))
            self.register_buffer("offset", torch.tensor([5.0, 6.0]))

        def forward(self, x):
            y = self.free(self.norm(self.mid(self.still(x).relu())))
            return y * self.scale.exp() + self.shift - self.offset

    torch.manual_seed(7)
    net = Net().eval()
    net.still.requires_grad_(False)
    net.mid.bias.requires_grad_(False)
    return net


def save_exported(net, x, path):
    import torch

    torch.export.save(torch.export.export(net, (x,)), path)


def save_scripted(net, x, path):
    import torch

    torch.jit.script(net).save(path)


def save_traced(net, x, path):
    import torch

    torch.jit.trace(net, x).save(path)


@pytest.mark.parametrize("save, name", [(save_exported, "m.pt2"), (save_scripted, "m.pt"), (save_traced, "m.pt")])
def test_files_of_pytorch_keep_which_parameters_learn(save, name, tmp_path):
    import torch

    net, x = partly_frozen(), torch.arange(24.0).reshape(6, 4)
    save(net, x, tmp_path / name)
    ported = port([tmp_path / name, "--shape", "6,4"], tmp_path / "port.py").model
    learns = {name.replace(".", "_") for name, p in net.named_parameters() if p.requires_grad}
    assert {name.replace(".", "_") for name, p in ported.named_parameters() if p.requires_grad} == learns
    with torch.no_grad():
        np.testing.assert_allclose(ported(x), net(x), rtol=1e-5)
    told = convoy("summary", tmp_path / name, "--shape", "6,4").stdout
    assert "(31 trainable, 38 not)" in told


def test_a_frozen_weight_beside_a_bias_that_learns_is_carried(tmp_path):
    """Of a program, and of what convoy wrote of it."""
    import torch

    (tmp_path / "net.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b = nn.Conv2d(3, 4, 2), nn.Conv2d(4, 5, 2)\n"
        "        self.a.weight.requires_grad_(False)\n\n    def forward(self, x):\n        return self.b(self.a(x))\n"
    )
    ported = port([tmp_path / "net.py", "--shape", "2,3,6,7"], tmp_path / "port.py").model
    assert {name for name, p in ported.named_parameters() if p.requires_grad} == {"a.bias", "b.weight", "b.bias"}
    again = port([tmp_path / "port.py", "--shape", "2,3,6,7"], tmp_path / "again.py").model
    assert {name for name, p in again.named_parameters() if p.requires_grad} == {"a.bias", "b.weight", "b.bias"}
    assert torch.equal(again.a.weight, ported.a.weight)


def module_in(text, path):
    import importlib.util

    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Net()


TIED = """from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.body = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 4))
        self.out = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 4))
        self.head = nn.Linear(4, 7)
        self.out[0].weight = self.body[0].weight
        self.head.weight = self.embed.weight

    def forward(self, x):
        y = self.out(self.body(self.embed(x)))
        return self.head(y) + y @ self.embed.weight.T
"""


def test_a_weight_of_several_layers_stays_one(tmp_path):
    """Three uses of the embedding, one of them transposed; a step of training leaves the port where it leaves the source."""
    import torch

    torch.manual_seed(3)
    net, x = module_in(TIED, tmp_path / "tied.py"), torch.tensor([[1, 6, 2], [0, 3, 5]])
    torch.save(net.state_dict(), tmp_path / "tied.pth")
    save_exported(net.eval(), x, tmp_path / "tied.pt2")
    save_scripted(net, x, tmp_path / "tied.pt")
    steps = torch.optim.SGD(net.parameters(), RATE)
    torch.mean(net(x) ** 2).backward()
    ports = [
        port([tmp_path / "tied.py", "--weights", tmp_path / "tied.pth", "--shape", "2,3:int64"], tmp_path / "a.py"),
        port([tmp_path / "tied.pt2"], tmp_path / "b.py"),
        port([tmp_path / "tied.pt", "--shape", "2,3:int64"], tmp_path / "c.py"),
    ]
    count = sum(p.numel() for p in net.parameters())
    steps.step()
    for ported in ports:
        learner = ported.model
        assert sum(p.numel() for p in learner.parameters() if p.requires_grad) == count
        own = torch.optim.SGD(learner.parameters(), RATE)
        torch.mean(learner(x) ** 2).backward()
        own.step()
        torch.testing.assert_close(learner(x), net(x), rtol=1e-4, atol=1e-6)
    told = convoy("port", tmp_path / "tied.pt2", "-o", tmp_path / "tied.keras").stdout
    assert "the source trains one weight where the port has two" in told


def test_what_keras_cannot_freeze_is_said(tmp_path):
    import torch

    net = partly_frozen()
    net.norm.requires_grad_(False)
    save_exported(net, torch.zeros(6, 4), tmp_path / "m.pt2")
    told = " ".join(convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.keras").stdout.split())
    assert "Keras freezes whole layers: 'mid/bias' stood still" in told
    assert "the source's take those of the batch: 'norm'" in told
    net.requires_grad_(True)
    save_exported(net, torch.zeros(6, 4), tmp_path / "free.pt2")
    assert "note" not in convoy("port", tmp_path / "free.pt2", "-o", tmp_path / "free.py").stdout


def frozen_model(keras, kind, functional, nested):
    layers = keras.layers
    chain = [layers.Dense(4, name="a"), layers.Dense(2, name="b"), layers.Dense(5, name="c")]
    x = keras.Input((3,))
    if functional:
        y = x
        for layer in chain:
            y = layer(y)
        model = keras.Model(x, y)
    else:
        model = keras.Sequential([x, *chain])
    if kind != "one":
        model.trainable = False
    if kind == "all but one":
        model.get_layer("b").trainable = True
    if kind == "one":
        model.get_layer("a").trainable = False
    return keras.Model(x := keras.Input((3,)), layers.Dense(6, name="top")(model(x))) if nested else model


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("kind", ["one", "all", "all but one"])
def test_what_stands_still_is_what_keras_trains_no_more_of(kind, functional, nested, tmp_path):
    import keras

    frozen_model(keras, kind, functional, nested).save(tmp_path / "m.keras")
    trained = sum(np.size(w) for w in keras.models.load_model(tmp_path / "m.keras").trainable_weights)
    assert f"({trained} trainable" in convoy("summary", tmp_path / "m.keras").stdout


def test_a_program_that_frees_one_layer_of_a_frozen_model_trains_what_keras_trains(tmp_path):
    import keras

    trained = sum(np.size(w) for w in frozen_model(keras, "all but one", True, False).trainable_weights)
    source = inspect.getsource(frozen_model) + "\nmodel = frozen_model(keras, 'all but one', True, False)\n"
    (tmp_path / "m.py").write_text("import keras\n\n" + source)
    assert f"({trained} trainable" in convoy("summary", tmp_path / "m.py:model").stdout


STOPS = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.still, self.a, self.b, self.c = nn.Linear(4, 5), nn.Linear(5, 3), nn.Linear(5, 3), nn.Linear(4, 3)

    @torch.no_grad()
    def looked_up(self, x):
        with torch.enable_grad():
            y = self.c(x)
        return y.sigmoid()

    def forward(self, x):
        with torch.no_grad():
            y = self.still(x).relu()
        z = self.a(y)
        return z + (self.b(y).tanh() * z - z).detach() * self.b(y) + self.looked_up(x) * z
"""


def trained_one_step(net, x):
    import torch

    learnt = list(net.parameters())
    steps = torch.optim.SGD(learnt, RATE)
    torch.mean(net(x) ** 2).backward()
    steps.step()
    with torch.no_grad():
        return net(x)


def test_a_gradient_that_the_source_stops_stops_in_the_port(tmp_path):
    """torch.no_grad() around statements and functions, and .detach(): one step agrees, toward Keras and back, too."""
    import keras
    import tensorflow as tf
    import torch

    torch.manual_seed(5)
    net, x = module_in(STOPS, tmp_path / "net.py"), torch.randn(6, 4)
    torch.save(net.state_dict(), tmp_path / "net.pth")
    save_exported(net, x, tmp_path / "net.pt2")
    source = [tmp_path / "net.py", "--weights", tmp_path / "net.pth", "--shape", "6,4"]
    ports = [port(source, tmp_path / "a.py"), port([tmp_path / "net.pt2"], tmp_path / "b.py")]
    convoy("port", *source, "-o", tmp_path / "net.keras")
    ports.append(port([tmp_path / "net.keras"], tmp_path / "c.py"))
    convoy("port", *source, "--to", "keras", "-o", tmp_path / "k.py")
    ports.append(port([f"{tmp_path / 'k.py'}:build", "--weights", tmp_path / "k.weights.h5"], tmp_path / "d.py"))
    model, rate = keras.models.load_model(tmp_path / "net.keras"), RATE
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x.numpy(), training=True)))
    for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
        if gradient is not None:
            variable.assign_sub(rate * gradient)
    want = trained_one_step(net, x)
    for ported in ports:
        torch.testing.assert_close(trained_one_step(ported.model, x), want, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model(x.numpy()), want, rtol=1e-4, atol=1e-6)
    assert "stop" not in convoy("port", *source, "-o", tmp_path / "net.onnx").stdout


ACTS = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.LSTM(3, 4, 2, batch_first=True, dropout=1.0, bidirectional=True)
        self.more = nn.GRU(8, 6, 3, dropout=1.0, batch_first=True)
        self.looks = nn.MultiheadAttention(6, 2, dropout=1.0, batch_first=True)

    def forward(self, x):
        y = self.more(self.steps(x)[0])[0]
        return y, self.looks(y, y, y)[0]
"""


def test_dropout_inside_recurrent_layers_and_attention_acts_in_the_port(tmp_path):
    """At a rate of 1 nothing is drawn: what lies behind is computed of zeros."""
    import keras
    import torch

    torch.manual_seed(8)
    net, x = module_in(ACTS, tmp_path / "acts.py"), torch.randn(2, 5, 3)
    torch.save(net.state_dict(), tmp_path / "acts.pth")
    source = [tmp_path / "acts.py", "--weights", tmp_path / "acts.pth", "--shape", "2,5,3"]
    with torch.no_grad():
        want, at_rest = net.train()(x), net.eval()(x)
        got = port(source, tmp_path / "port.py").model.train()(x)
    assert not torch.allclose(want[0], at_rest[0], atol=1e-3) and not torch.allclose(want[1], at_rest[1], atol=1e-3)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    told = convoy("port", *source, "-o", tmp_path / "acts.keras").stdout
    assert "note" not in told
    for a, b in zip(keras.models.load_model(tmp_path / "acts.keras")(x.numpy(), training=True), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


DROPS = """from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.{first} = nn.{layer}(0.5)

    def forward(self, x):
        return self.{first}(x)
"""


@pytest.mark.parametrize(
    "layer, shape", [("FeatureAlphaDropout", (4, 9, 5, 6)), ("Dropout2d", (4, 9, 5, 6)), ("Dropout1d", (9, 6)), ("Dropout3d", (9, 3, 5, 6))]
)
def test_dropout_of_channels_drops_them_whole(layer, shape, tmp_path):
    """In the port, in the Keras port, and in what is made of that again."""
    import keras
    import torch

    module_in(DROPS.format(first="drop", layer=layer), tmp_path / "net.py")
    source = [tmp_path / "net.py", "--shape", ",".join(map(str, shape))]
    ported = port(source, tmp_path / "port.py")
    assert f"nn.{layer}(" in (tmp_path / "port.py").read_text()
    done = convoy("port", *source, "-o", tmp_path / "net.keras", "--json").stdout
    crossing = ported.inputs[0].__class__.of(json.loads(done)["inputs"][0])
    model = keras.models.load_model(tmp_path / "net.keras")
    again = port([tmp_path / "net.keras"], tmp_path / "again.py")
    x = np.ones(shape, np.float32)
    keras.utils.set_random_seed(3)
    answers = [
        ported.model.train()(torch.from_numpy(x)).numpy(),
        np.asarray(model(crossing.to_port(x), training=True)).transpose(np.argsort(crossing.permutation) if crossing.permutation else range(x.ndim)),
    ]
    answers.append(again.model.train()(torch.from_numpy(again.inputs[0].to_port(crossing.to_port(x)))).numpy())
    channels = 0 if len(shape) in (2, 4) and layer in ("Dropout1d", "Dropout3d") else 1
    for y in answers[:2]:
        whole = y.reshape(*shape[: channels + 1], -1)
        assert np.all(whole == whole[..., :1]) and np.unique(whole).size == 2
    assert np.unique(answers[2]).size == 2


NOTED = """import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm, spectral_norm


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3, momentum=None)
        self.each = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)
        self.a, self.b = weight_norm(nn.Conv1d(3, 4, 2)), spectral_norm(nn.Conv1d(4, 5, 2))

    def forward(self, x):
        return self.b(self.a(self.each(self.norm(x)))) + self.b.bias.detach()[:, None]
"""


def test_what_a_module_does_in_training_and_no_port_does_is_said(tmp_path):
    import torch

    net, x = module_in(NOTED, tmp_path / "net.py").eval(), torch.randn(2, 3, 9)
    torch.save(net.state_dict(), tmp_path / "net.pth")
    save_exported(net, x, tmp_path / "net.pt2")
    source = [tmp_path / "net.py", "--weights", tmp_path / "net.pth", "--shape", "2,3,9"]
    common = ["'norm'", "each example by itself of 'each'", "weight_norm", "detach() of 'b.bias'", "it acts in training alone and is not carried"]
    for given, more in ((source, "momentum=None"), ([tmp_path / "net.pt2"], "a momentum of 0")):
        for name in ("port.py", "port.keras"):
            told = " ".join(convoy("port", *given, "-o", tmp_path / name, "--force").stdout.split())
            for words in (*common, more):
                assert words in told, (given, name, words)
            assert told.count("it acts in training alone") == 1
            said = json.loads(convoy("port", *given, "-o", tmp_path / name, "--force", "--json").stdout)["source"]["remarks"]
            assert sum("it acts in training alone" in one for one in said) == 1
        assert "training" not in convoy("port", *given, "-o", tmp_path / "port.onnx", "--force").stdout
