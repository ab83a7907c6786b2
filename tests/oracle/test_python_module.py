"""The Python module on live objects of the frameworks: read, carried, trained on, compared."""
import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from carrying import ROOT
from torch import nn


class Named(NamedTuple):
    best: torch.Tensor
    features: dict


@pytest.fixture(autouse=True)
def convoy(python_module):
    return python_module


@pytest.mark.parametrize("page", sorted(page.name for page in (ROOT / "docs").glob("*.md") if "```py\n" in page.read_text()))
def test_the_blocks_that_need_a_framework_do_what_they_say(convoy, page, tmp_path):
    """Each runs as it stands, beside the examples; what a comment behind a print says is printed."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in re.findall(r"```py\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S):
        if "on_ray" in block:
            continue  # tests/batch
        place = {"PYTHONPATH": f"{Path(convoy.__file__).parents[1]}:{tmp_path}"}
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(block)], cwd=tmp_path, env={**os.environ, **place}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == re.findall(r"^\s*print\(.*\)  # (.*)$", block, re.M)


def indented_programs() -> list:
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        unfenced = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.S | re.M)
        for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", unfenced, re.M):
            if re.match(r"\s*(def |import |from |on_ray|convoy\.)", block):
                found.append((page.name, textwrap.dedent(block).strip()))
    return found


@pytest.mark.parametrize("page, block", indented_programs())
def test_the_indented_programs_of_the_documents_are_some(convoy, page, block, tmp_path):
    if block.startswith("on_ray"):  # tests/batch has the rays
        call = ast.parse(block).body[0].value
        inspect.signature(convoy.batch.on_ray).bind(*call.args, **{one.arg: one.value for one in call.keywords})
        return
    assert block.startswith("def test_"), f"{page} has a program of another kind"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    convoy.port(ROOT / "examples/digits.keras", tmp_path / "digits.onnx")
    (tmp_path / "test_block.py").write_text(block + "\n")
    place = {**os.environ, "PYTHONPATH": str(Path(convoy.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "test_block.py"], cwd=tmp_path, env=place,
                          capture_output=True, text=True)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


class Net(nn.Module):
    """Padding that is not Keras's `same`, a flatten in PyTorch's order, dropout that is off."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, (3, 5), stride=2, padding=(1, 2))
        self.norm = nn.BatchNorm2d(6)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(6 * 5 * 7, 4)

    def forward(self, x):
        return self.head(self.drop(torch.relu(self.norm(self.conv(x)))).flatten(1))


@pytest.fixture()
def net():
    torch.manual_seed(3)
    net = Net()
    net.norm.running_mean.uniform_(-1, 1)
    net.norm.running_var.uniform_(0.5, 2)
    return net.eval()


@pytest.fixture()
def picture():
    return torch.randn(2, 3, 9, 13, generator=torch.Generator().manual_seed(5))


@pytest.fixture()
def keras_net():
    keras.utils.set_random_seed(4)
    image = keras.Input((9, 13, 3), name="image")
    x = keras.layers.Conv2D(6, 3, strides=2, padding="same", activation="relu")(image)
    x = keras.layers.AveragePooling2D(2, padding="same")(x)
    return keras.Model(image, keras.layers.Dense(4)(keras.layers.Flatten()(x)))


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=2e-5)


def test_a_live_module_is_read(convoy, net, picture):
    read = convoy.load(net, picture)
    close(read(picture), net(picture).detach())
    close(read(picture.numpy()), net(picture).detach())
    assert read.inputs[0].shape == (None, 3, 9, 13)
    close(read(picture[:1]), net(picture[:1]).detach())


def test_arrays_of_torch_keep_their_gradients(convoy, net, picture):
    read = convoy.load(net, picture)
    picture.requires_grad_(True)
    close(read(picture), net(picture).detach())
    assert picture.requires_grad and picture.grad is None


def test_a_state_dict_of_a_million_numbers_is_looked_at_where_it_lies(convoy):
    from convoy import _convoy
    from convoy._arguments import _array

    model = nn.Sequential(nn.Conv2d(64, 256, 3), nn.BatchNorm2d(256), nn.Conv2d(256, 384, 3), nn.LSTM(16, 8))
    state = model.state_dict()
    assert sum(value.numel() for value in state.values()) > 1_000_000
    for name, value in state.items():
        assert _convoy.address_of(_array(value)) == value.data_ptr(), name
    parameter = next(model.parameters())
    assert parameter.requires_grad and _convoy.address_of(_array(parameter)) == parameter.data_ptr()


def test_a_state_dict_gives_source_its_weights(convoy, net, picture, tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.conv = nn.Conv2d(3, 6, (3, 5), stride=2, padding=(1, 2))\n        self.norm = nn.BatchNorm2d(6)\n"
        "        self.head = nn.Linear(210, 4)\n\n    def forward(self, x):\n        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))\n")
    source = f"{tmp_path}/net.py:Net"
    read = convoy.load(source, shapes=(2, 3, 9, 13), weights=net.state_dict())
    close(read(picture), net(picture).detach())
    halves = {name: value.bfloat16() if value.is_floating_point() else value for name, value in net.state_dict().items()}
    rounded = Net().eval()
    rounded.load_state_dict({name: value.float() if value.is_floating_point() else value for name, value in halves.items()})
    close(convoy.load(source, shapes=(2, 3, 9, 13), weights=halves)(picture), rounded(picture).detach())
    with pytest.raises(convoy.Error, match="head.weight"):
        convoy.load(source, shapes=(2, 3, 9, 13), weights={name: value for name, value in net.state_dict().items() if name != "head.weight"})


def test_a_module_in_training_is_said_and_left_as_it_was(convoy, net, picture):
    wanted = net(picture).detach()
    net.train()
    net.drop.eval()
    with pytest.warns(convoy.Warning, match="training mode"):
        read = convoy.load(net, picture)
    close(read(picture), wanted)
    assert net.training and net.norm.training and not net.drop.training


def test_a_live_module_that_was_read_is_ported_with_its_example(convoy, net, picture, tmp_path):
    read = convoy.load(net, picture)
    assert convoy.port(read, tmp_path / "net.onnx").holds
    assert convoy.diff(read, tmp_path / "net.onnx").same


def test_a_live_module_without_an_input_is_refused(convoy, net):
    with pytest.raises(convoy.UsageError, match="example input"):
        convoy.load(net)


def test_several_inputs_in_a_dict_and_several_outputs(convoy):
    class Packed(nn.Module):
        def forward(self, given):
            return given["a"] @ given["b"].T, given["a"].sum(1)

    a, b = torch.randn(2, 4), torch.randn(2, 4)
    read = convoy.load(Packed().eval(), {"a": a, "b": b})
    for got, want in zip(read(a, b), Packed()({"a": a, "b": b}), strict=True):
        close(got, want)


@pytest.mark.parametrize("give", [lambda x: torch.topk(x, 3, dim=1), lambda x: torch.max(x, dim=1), lambda x: Named(x.amax(1), {"all": x})])
def test_outputs_with_names_come_as_tuples(convoy, give):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(7, 9)

        def forward(self, x):
            return give(self.line(x))

    net, x = Net().eval(), torch.randn(4, 7, generator=torch.Generator().manual_seed(1))
    wanted = torch.utils._pytree.tree_leaves(net(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", convoy.Warning)  # outputs within outputs come one behind the other
        loaded, ported = convoy.load(net, x)(x), convoy.to_torch(net, x)(x)
    for got in (loaded, torch.utils._pytree.tree_leaves(ported)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted):
            torch.testing.assert_close(torch.as_tensor(one), other, rtol=1e-5, atol=1e-6)
    assert "forward" not in vars(net) and type(net(x)) is not tuple


def test_doubles_stay_doubles_and_indices_whole(convoy):
    module = nn.Linear(4, 3).double().eval()
    x = torch.randn(2, 4, dtype=torch.float64)
    y = convoy.load(module, x)(x)
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, module(x).detach(), rtol=1e-14)
    table = convoy.load(nn.Embedding(10, 6).eval(), torch.zeros(2, 5, dtype=torch.long))
    with pytest.raises(convoy.UsageError, match="int64"):
        table(np.full((2, 5), 4.5, "float32"))
    with pytest.raises(convoy.UsageError, match="table"):
        table(np.full((2, 5), 10))


def test_doubles_inside_a_model_are_computed_as_doubles(convoy):
    class Inside(nn.Module):
        def forward(self, x):
            y = (x.double() + 1e9) - 1e9
            return y.float(), (y * 1000).int()

    x = torch.randn(2, 4)
    for got, want in zip(convoy.load(Inside().eval(), x)(x), Inside()(x), strict=True):
        assert str(got.dtype) == str(want.dtype)[6:]
        np.testing.assert_array_equal(got, want.numpy())


def test_halves_round_and_overflow_as_halves_between_layers(convoy):
    class ThereAndBack(nn.Module):
        def forward(self, x):
            return x * 1000 / 1000 + 0.001

    x = torch.tensor([[1000.0, 3.0, 0.3]]).half()
    y = convoy.load(ThereAndBack().eval(), x)(x)
    assert y.dtype == np.float16 and np.isinf(y[0, 0])
    np.testing.assert_array_equal(y, ThereAndBack()(x).numpy())


@pytest.mark.parametrize("make", [lambda: __import__("tensorflow").constant([["a"] * 4] * 2), lambda: __import__("tensorflow").ragged.constant([[1.0], [2.0, 3.0]]),
                                  lambda: torch.randn(2, 4).to_sparse(), lambda: torch.randn(2, 4, device="meta"), lambda: torch.randn(2, 4, dtype=torch.complex64),
                                  lambda: torch.quantize_per_tensor(torch.randn(2, 4), 0.1, 0, torch.quint8)])  # fmt: skip
def test_what_holds_no_plain_numbers_is_refused(convoy, make):
    read = convoy.load(nn.Linear(4, 3).eval(), torch.randn(2, 4))
    with pytest.raises(convoy.UsageError):
        read(make())


def test_tensors_of_tensorflow_are_taken(convoy):
    import tensorflow as tf

    module = nn.Linear(4, 3).eval()
    x = torch.randn(2, 4)
    close(convoy.load(module, x)(tf.constant(x.numpy())), module(x).detach())


def test_sizes_of_a_live_module_are_never_freed_afterwards(convoy):
    class Mean(nn.Module):
        def forward(self, x):
            return torch.tanh(x).sum(0) / x.shape[0]

    x = torch.randn(2, 4)
    with pytest.raises(convoy.UsageError, match="example input"):
        convoy.load(Mean().eval(), x, shapes=(None, 4))
    read = convoy.load(Mean().eval(), x)
    close(read(x), Mean()(x))
    if read.inputs[0].shape[0] is None:
        y = torch.randn(5, 4)
        close(read(y), Mean()(y))


def test_outputs_have_the_types_of_the_model(convoy):
    class Types(nn.Module):
        def forward(self, x):
            return x > 0, (x * 9).int(), (x * 9).abs().to(torch.uint8), x.argmax(1)

    x = torch.randn(2, 4)
    for got, want in zip(convoy.load(Types().eval(), x)(x), Types()(x), strict=True):
        assert str(got.dtype) == str(want.dtype)[6:]
        np.testing.assert_array_equal(got, want.numpy())


def test_a_sequence_is_compared_as_it_lies(convoy):
    model = keras.Sequential([keras.Input((5, 4)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(2)])
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    x = np.random.default_rng(1).normal(size=(2, 5, 4)).astype("float32")
    assert not convoy.diff(model, module, x).same
    with torch.no_grad():
        for layer, dense in zip((module[0], module[2]), model.layers):
            layer.weight.copy_(torch.from_numpy(dense.get_weights()[0].T.copy()))
            layer.bias.copy_(torch.from_numpy(dense.get_weights()[1]))
    convoy.assert_same(model, module, x)


def test_what_export_does_not_take_is_said(convoy, picture):
    class Branches(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(convoy.Unsupported, match="torch.export does not take the module"):
        convoy.load(Branches().eval(), picture)


def test_programs_scripts_and_onnx_are_read(convoy, net, picture):
    wanted = net(picture).detach()
    close(convoy.load(torch.export.export(net, (picture,)))(picture), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(net, picture)
    close(convoy.load(traced, shapes=(2, 3, 9, 13))(picture), wanted)
    proto = convoy.to_onnx(net, picture)
    assert isinstance(proto, onnx.ModelProto)
    onnx.checker.check_model(proto)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    close(session.run(None, {session.get_inputs()[0].name: picture.numpy()})[0], wanted)
    close(convoy.load(proto)(picture), wanted)


def test_a_keras_model_becomes_a_module_that_trains(convoy, keras_net):
    x = np.random.default_rng(6).normal(size=(4, 9, 13, 3)).astype("float32")
    module = convoy.to_torch(keras_net)
    assert isinstance(module, nn.Module) and "class" in module.source
    first = torch.from_numpy(np.moveaxis(x, -1, 1).copy())
    close(module(first).detach(), keras_net(x))

    # Three steps beside the original: the same losses.
    goal = np.random.default_rng(7).normal(size=(4, 4)).astype("float32")
    keras_net.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    for _ in range(3):
        loss = nn.functional.mse_loss(module(first), torch.from_numpy(goal))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert abs(float(keras_net.train_on_batch(x, goal)) - loss.item()) < 1e-4


def test_a_layer_may_be_called_source(convoy):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="source")])
    x = np.random.default_rng(2).normal(size=(2, 4)).astype("float32")
    close(convoy.to_torch(model)(torch.from_numpy(x)).detach(), model(x))


def test_numbers_without_axes_are_inputs(convoy):
    class Scaled(nn.Module):
        def forward(self, x, k):
            return x * k

    x = torch.randn(2, 4)
    read = convoy.load(Scaled().eval(), x, torch.tensor(2.0))
    for k in (3.0, np.float32(3), np.array(3.0, "float32"), torch.tensor(3.0)):
        close(read(x, k), x * 3)


def test_a_module_becomes_a_keras_model(convoy, net, picture):
    model = convoy.to_keras(net, picture)
    assert isinstance(model, keras.Model)
    close(model(np.moveaxis(picture.numpy(), 1, -1)), net(picture).detach())


def test_live_models_are_compared(convoy, net, picture):
    model = convoy.to_keras(net, picture)
    convoy.assert_same(net, model, picture)
    weights = model.get_weights()
    weights[0] = weights[0] * 1.001
    model.set_weights(weights)
    found = convoy.diff(net, model, picture)
    assert not found.same
    assert found.findings[0].layer == "conv"
    with pytest.raises(AssertionError, match="conv"):
        convoy.assert_same(net, model, picture)


@pytest.mark.parametrize("takes_names", [True, False])
def test_inputs_by_name_are_turned_for_the_module(convoy, takes_names):
    image, vector = keras.Input((9, 8, 3), name="image"), keras.Input((5,), name="vector")
    L = keras.layers
    y = L.Dense(4)(L.Concatenate()([L.Flatten()(L.Conv2D(6, 3, strides=2, padding="same")(image)), vector]))
    model = keras.Model({"image": image, "vector": vector} if takes_names else [image, vector], y)
    random = np.random.default_rng(2)
    given = {"image": random.normal(size=(2, 9, 8, 3)).astype("float32"), "vector": random.normal(size=(2, 5)).astype("float32")}
    convoy.assert_same(model, convoy.to_torch(model), given)


def test_trained_numbers_go_into_a_module_that_somebody_else_wrote(convoy, keras_net):
    class Ported(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Conv2d(3, 6, 3, stride=2, padding=1)  # rows and columns are odd: as `same`
            self.classifier = nn.Linear(6 * 3 * 4, 4)

        def forward(self, x):
            y = nn.functional.avg_pool2d(torch.relu(self.features(x)), 2, ceil_mode=True, count_include_pad=False)
            return self.classifier(y.permute(0, 2, 3, 1).flatten(1))

    torch.manual_seed(1)
    x = np.random.default_rng(9).normal(size=(2, 9, 13, 3)).astype("float32")
    module = Ported().eval()
    turned = torch.from_numpy(np.moveaxis(x, -1, 1).copy())
    assert np.abs(module(turned).detach().numpy() - np.asarray(keras_net(x))).max() > 1e-2
    report = convoy.copy_weights(convoy.load(keras_net), module, x)
    assert report.holds
    close(module(turned).detach(), keras_net(x))

    class Wrong(Ported):
        def forward(self, x):
            return super().forward(torch.sigmoid(x))

    wrong = Wrong().eval()
    before = {name: value.clone() for name, value in wrong.state_dict().items()}
    with pytest.raises(convoy.NotProven) as caught:
        convoy.copy_weights(keras_net, wrong, x)
    assert caught.value.report.text and "still computes something else, first at layer '" in str(caught.value)
    assert all(torch.equal(before[name], value) for name, value in wrong.state_dict().items())

    # And back: a Keras model of the same build, from the module.
    other = keras.models.clone_model(keras_net)
    convoy.copy_weights(module, other, turned)
    close(other(x), keras_net(x))


def test_trained_numbers_go_into_a_sequential_model(convoy):
    keras.utils.set_random_seed(2)
    model = keras.Sequential([keras.Input((8, 6, 3)), keras.layers.Conv2D(4, 3), keras.layers.BatchNormalization(), keras.layers.Dropout(0.3),
                              keras.layers.Flatten(), keras.layers.Dense(5)])
    model.compile(optimizer="sgd", loss="mse")
    other = keras.models.clone_model(model)
    other.compile(optimizer="adam", loss="mse")
    x = np.random.default_rng(1).normal(size=(2, 8, 6, 3)).astype("float32")
    convoy.copy_weights(model, other)
    close(other(x), model(x))


def test_sizes_that_export_took_for_numbers_are_said(convoy):
    class Rows(nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0], -1)

    x = torch.randn(2, 4, 3)
    program = torch.export.export(Rows(), (x,))
    with pytest.warns(convoy.Warning, match="dynamic_shapes"):
        convoy.load(program, shapes=(None, 4, 3))
    y = torch.randn(5, 4, 3)
    close(convoy.load(Rows().eval(), x)(y), Rows()(y))  # a live module is exported with its batch free


def test_a_careless_port_is_named(convoy, keras_net):
    port = convoy.to_torch(keras_net)
    careless = nn.Sequential(nn.Conv2d(3, 6, 3, stride=2, padding=1), nn.ReLU(), nn.AvgPool2d(2, padding=0, ceil_mode=True))
    careless[0].weight.data = [p for p in port.parameters() if p.ndim == 4][0].detach().clone()
    careless[0].bias.data = [p for p in port.parameters() if p.ndim == 1][0].detach().clone()
    careless.eval()
    cut = keras.Model(keras_net.input, keras_net.layers[2].output)
    x = np.random.default_rng(8).normal(size=(1, 8, 12, 3)).astype("float32")  # where they differ: even sizes
    shorter = keras.Sequential([keras.Input((8, 12, 3)), *[type(layer).from_config(layer.get_config()) for layer in cut.layers[1:]]])
    shorter.set_weights(cut.get_weights())
    found = convoy.diff(shorter, careless, x)
    assert [finding.layer for finding in found.findings][:1] == [shorter.layers[0].name]
    assert "(0, 1, 0, 1)" in found.findings[0].fix["torch"]


def test_the_fixture_for_tests_names_the_layer(convoy, tmp_path, net, picture):
    for name, padding in (("a", "1"), ("b", "(1, 0)")):
        (tmp_path / f"{name}.py").write_text(f"from torch import nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding={padding}), nn.ReLU())\n")
    (tmp_path / "test_port.py").write_text(
        "def test_same(convoy_same):\n    convoy_same('a.py', 'a.py', shapes=(1, 3, 8, 10))\n"
        "def test_other(convoy_same):\n    convoy_same('a.py', 'b.py', shapes=(1, 3, 8, 10))\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--convoy-report", "pages", "test_port.py"], cwd=tmp_path,
                          capture_output=True, text=True, env={"PYTHONPATH": str(Path(convoy.__file__).parents[1]), "PATH": ""})
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "padding=1" in done.stdout
    assert [page.suffix for page in (tmp_path / "pages").iterdir()] == [".html"]


class Counting(nn.Module):
    """Its second answer is not its first."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(5))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        return x + self.seen


@pytest.mark.parametrize("kind", ["module", "traced", "scripted"])
def test_a_model_that_changes_itself_is_read_with_a_warning(convoy, kind):
    x = torch.randn(3, 5)
    wanted = Counting()(x)
    with torch.no_grad():
        model = {"module": Counting, "traced": lambda: torch.jit.trace(Counting(), x, check_trace=False),
                 "scripted": lambda: torch.jit.script(Counting())}[kind]()
        model.seen.zero_()  # tracing called it
        with pytest.warns(convoy.Warning, match="'seen' changes each time the model is called"):
            net = convoy.load(model.eval(), x) if kind == "module" else convoy.load(model, shapes=(3, 5))
    np.testing.assert_allclose(net(x), wanted, rtol=1e-6)


def test_making_a_module_leaves_random_numbers_alone(convoy):
    torch.manual_seed(11)
    wanted = torch.rand(3)
    torch.manual_seed(11)
    convoy.to_torch(ROOT / "examples" / "digits.keras")
    torch.testing.assert_close(torch.rand(3), wanted, rtol=0, atol=0)


def test_weights_go_into_a_module_of_sequences(convoy):
    """What has its features last in both frameworks is not turned."""
    a = keras.Sequential([keras.Input((5, 4)), keras.layers.LSTM(3), keras.layers.Dense(2)])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = nn.LSTM(4, 3, batch_first=True)
            self.head = nn.Linear(3, 2)

        def forward(self, x):
            return self.head(self.cells(x)[0][:, -1])

    b, x = Net().eval(), np.random.default_rng(2).normal(size=(2, 5, 4)).astype("float32")
    convoy.copy_weights(a, b, x)
    np.testing.assert_allclose(b(torch.from_numpy(x)).detach(), a(x), atol=1e-6)


class AsksForItsBatch(nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] > 3 else x + 1


def test_a_module_that_asks_for_its_batch_keeps_that_of_the_example(convoy):
    x = torch.randn(2, 4)
    net = convoy.load(AsksForItsBatch().eval(), x)
    assert net.inputs[0].shape == (2, 4)
    np.testing.assert_array_equal(net(x), x + 1)
    with pytest.raises(convoy.UsageError):
        net(torch.randn(5, 4))


def test_a_program_of_bounded_sizes_says_them(convoy):
    free = torch.export.Dim("b", min=2, max=3)
    program = torch.export.export(AsksForItsBatch().eval(), (torch.randn(2, 4),), dynamic_shapes=({0: free},))
    with pytest.warns(convoy.Warning, match="sizes of 2 to 3 along axis 0"):
        convoy.load(program)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        convoy.load(program, shapes=(3, 4))
