"""Live objects that are not what their files say, and what a call leaves of them: judged by the objects themselves."""
import copy
import functools
import inspect
import io
import os
import pickle
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
import torch
from keras import layers as L
from keras import ops
from torch import nn

X = np.linspace(-2, 2, 12, dtype="float32").reshape(2, 6)


@pytest.fixture(autouse=True)
def convoy(python_module):
    return python_module


def of_the_program(name: str, base: type, call) -> type:
    """A class as a notebook has it, of a name that is Keras's."""
    return type(name, (base,), {"call": call, "__module__": "__main__"})


Doubling = of_the_program("Dense", L.Dense, lambda self, x: L.Dense.call(self, x) * 2)
Threefold = of_the_program("Sequential", keras.Sequential, lambda self, x, training=None, mask=None: keras.Sequential.call(self, x) * 3)
Swapped = of_the_program("ReLU", L.Layer, lambda self, x: -x)


@pytest.mark.parametrize("made", [
    lambda: keras.Sequential([L.Input((6,)), Doubling(3)]),
    lambda: keras.Sequential([L.Input((6,)), L.Dense(3), Swapped()]),
    lambda: Threefold([L.Input((6,)), L.Dense(3)]),
    lambda: keras.Sequential([L.Input((6,)), Threefold([L.Input((6,)), L.Dense(3)])]),
])  # fmt: skip
def test_a_class_of_a_notebook_is_not_keras_s_of_that_name(convoy, tmp_path, made):
    """A file of the older kind, .h5, does not tell them apart; the live model does, and is opened where the class has no weights itself."""
    model = made()
    if any(isinstance(one, Doubling) for one in model.layers):
        with pytest.raises(convoy.Unsupported, match="of its own"):
            convoy.load(model)
    else:
        assert np.allclose(convoy.load(model)(X), np.asarray(model(X)), atol=1e-5)
    model.save(tmp_path / "m.keras")
    with pytest.raises(convoy.Unsupported, match="of its own"):
        convoy.load(tmp_path / "m.keras")


class Block(L.Layer):
    """As programs write them: Keras's layers, called in a way of its own."""

    def __init__(self, width, name=None):
        super().__init__(name=name)
        self.line, self.norm, self.drop = L.Dense(width, activation="relu", name="line"), L.BatchNormalization(), L.Dropout(0.5)

    def call(self, x, training=None):
        return self.drop(self.norm(self.line(x), training=training), training=training) + ops.mean(x, axis=-1, keepdims=True)


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(5), L.Dense(3)

    def call(self, x):
        return self.head(self.block(x))


class Trained(keras.Model):
    """A class for its own training alone, as of examples of GANs."""

    def train_step(self, data):
        return {}


def called(model, *inputs):
    model(*inputs)
    return model


def of_blocks(kind=keras.Model, width=5):
    image = keras.Input((6,), name="image")
    return kind(image, L.Dense(3)(Block(4)(Block(width)(image))))


@pytest.mark.parametrize("made", [
    lambda: called(Net(), X), of_blocks, lambda: of_blocks(Trained), lambda: keras.Sequential([keras.Input((6,)), Block(4), L.Dense(2)]),
    lambda: keras.Sequential([keras.Input((6,)), keras.Sequential([keras.Input((6,)), Block(4)]), L.Dense(2)]),
], ids=["subclass", "functional", "train_step", "sequential", "nested"])  # fmt: skip
def test_classes_of_a_notebook_that_call_keras_s_layers_are_opened(convoy, made):
    keras.utils.set_random_seed(3)
    model = made()
    wanted, nodes = np.asarray(model(X)), [len(one._inbound_nodes) for one in model._flatten_layers()]
    names = [one.name for one in model._flatten_layers()]
    read = convoy.load(model)
    assert np.allclose(read(X), wanted, atol=1e-5) and read.parameters == model.count_params()
    port = convoy.to_torch(model)
    assert np.allclose(port.eval()(torch.from_numpy(X)).detach(), wanted, atol=1e-5)
    assert sum(one.numel() for one in port.parameters()) == sum(int(np.prod(one.shape)) for one in model.trainable_variables)
    assert [len(one._inbound_nodes) for one in model._flatten_layers()] == nodes and [one.name for one in model._flatten_layers()] == names
    assert "__call__" not in vars(Block) and "__call__" not in vars(Net)


def test_weights_go_into_a_class_of_a_notebook(convoy):
    keras.utils.set_random_seed(5)
    a, b = of_blocks(), of_blocks(Trained)
    convoy.copy_weights(a, b)
    assert np.array_equal(np.asarray(a(X)), np.asarray(b(X)))
    convoy.copy_weights(convoy.to_torch(b), a, torch.from_numpy(X))


def test_what_only_an_example_shows_of_a_subclass_is_asked_for(convoy):
    class Two(keras.Model):
        def __init__(self):
            super().__init__()
            self.head = L.Dense(3)

        def call(self, x, y):
            return self.head(x * y)

    class Words(keras.Model):
        def __init__(self):
            super().__init__()
            self.table = L.Embedding(9, 4)

        def call(self, given):
            return self.table(given["words"])

    two, words, numbers = called(Two(), X, X), Words(), {"words": np.arange(6).reshape(2, 3)}
    with pytest.raises(convoy.UsageError, match="Words 'words': is not built, .* call it once"):
        convoy.load(words)
    words(numbers)
    for model, given in ((two, (X, X)), (words, (numbers,))):
        with pytest.raises(convoy.Unsupported, match="give an example input, as it is called with"):
            convoy.load(model)
        read = convoy.load(model, *given)
        got = read(*given)
        assert np.allclose(got if model is two else next(iter(got.values())), np.asarray(model(*given)), atol=1e-5)
    assert read.inputs == (convoy.Value("words", "int64", (None, 3)),)


def test_what_cannot_be_followed_is_refused(convoy):
    import tensorflow as tf

    class OfTensorFlow(L.Layer):
        def call(self, x):
            return tf.math.softplus(x)

    class Counting(L.Layer):
        count = 0

        def call(self, x):
            self.count += 1
            return x * self.count

    class Net(keras.Model):
        def call(self, x):
            return tf.math.softplus(x)

    for model, words in ((keras.Sequential([keras.Input((6,)), OfTensorFlow()]), "class of its own"), (called(Net(), X), "cannot be followed .*KerasTensor"),
                         (keras.Sequential([keras.Input((6,)), Counting()]), "other numbers")):  # fmt: skip
        with pytest.raises(convoy.Unsupported, match=words):
            convoy.load(model)


@pytest.mark.parametrize("activation", [functools.partial(keras.activations.leaky_relu, negative_slope=0.3), type("Twice", (), {"__call__": lambda self, x: 2 * x})()])
def test_an_activation_that_no_file_holds_is_said(convoy, activation):
    model = keras.Sequential([keras.Input((6,)), L.Dense(4, activation=activation, name="first")])
    with pytest.raises(convoy.Unsupported, match="layer 'first' .*: activation is .*, which no file of Keras's holds"):
        convoy.load(model)


def test_a_partial_forward_is_read(convoy):
    net = nn.Linear(6, 4).eval()
    net.forward = functools.partial(net.forward)
    assert np.allclose(convoy.load(net, X)(X), net(torch.from_numpy(X)).detach(), atol=1e-5)


def test_a_sequence_of_tokens_through_a_cell_of_a_notebook(convoy):
    cell = of_the_program("LSTMCell", L.LSTMCell, L.LSTMCell.call)
    with pytest.raises(convoy.Unsupported, match="LSTMCell"):
        convoy.load(keras.Sequential([L.Input((5, 6)), L.RNN(cell(4))]))


def gelu(x):
    return x * ops.sigmoid(1.702 * x)


def swish(x):
    return x * ops.sigmoid(1.5 * x)


@pytest.mark.parametrize("function", [gelu, swish, ops.gelu], ids=["quick gelu", "swish", "ops.gelu"])
def test_a_function_under_the_name_of_an_activation(convoy, function):
    model = keras.Sequential([L.Input((6,)), L.Dense(4, activation=function)])
    with pytest.raises(convoy.Unsupported, match="keeps only the name"):
        convoy.load(model)


@pytest.mark.parametrize("function", ["gelu", "swish", "relu", ops.relu, ops.silu, keras.activations.elu])
def test_a_function_that_is_the_activation_is_read(convoy, function):
    model = keras.Sequential([L.Input((6,)), L.Dense(4, activation=function)])
    assert np.allclose(convoy.load(model)(X), np.asarray(model(X)), atol=1e-5)


def test_tensorflow_s_own_function_as_an_activation(convoy):
    import tensorflow as tf

    model = keras.Sequential([L.Input((6,)), L.Dense(4, activation=tf.nn.relu)])
    assert np.allclose(convoy.load(model)(X), np.asarray(model(X)), atol=1e-5)


def test_a_call_of_the_object_s_own(convoy):
    model = keras.Sequential([L.Input((6,)), L.Dense(4)])
    layer = model.layers[0]
    call = layer.call
    layer.call = lambda x: call(x) * 2
    with pytest.raises(convoy.Unsupported, match="was given another call"):
        convoy.load(model)


def test_inputs_by_name_and_several_outputs_agree(convoy):
    a, b = keras.Input((6,), name="b_first"), keras.Input((3, 6), name="a_second")
    model = keras.Model({"b_first": a, "a_second": b}, {"y": L.Dense(2)(a), "x": L.LSTM(3)(b)})
    given = {"b_first": X, "a_second": np.stack([X] * 3, 1)}
    ours, theirs = convoy.load(model)(given), model(given)
    assert all(np.allclose(ours[name], np.asarray(theirs[name]), atol=1e-5) for name in ("x", "y"))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def tied_by_view() -> Two:
    module = Two()
    module.b.weight = nn.Parameter(module.a.weight.data.t())
    return module


def overlapping() -> Two:
    module, flat = Two(), torch.zeros(20)
    module.a.bias, module.b.bias = nn.Parameter(flat[:6]), nn.Parameter(flat[3:9])
    return module


def expanded() -> Two:
    module = Two()
    module.b.bias = nn.Parameter(torch.zeros(1).expand(6))
    return module


@pytest.mark.parametrize("made", [tied_by_view, overlapping, expanded])
def test_weights_that_cannot_be_apart_are_left_alone(convoy, made):
    source, target = Two().eval(), made().eval()
    before = {name: value.clone() for name, value in target.state_dict().items()}
    with pytest.raises(convoy.Unsupported, match="nothing was changed"):
        convoy.copy_weights(source, target, torch.from_numpy(X))
    assert all(torch.equal(value, before[name]) for name, value in target.state_dict().items())


def test_a_model_is_not_read_again_as_another(convoy, tmp_path):
    """It runs as it was read; what needs its source once more says where that has changed."""
    x, net = torch.from_numpy(X), nn.Linear(6, 4).eval()
    model = convoy.load(net, x)
    unchanged = convoy.port(model, tmp_path / "a.onnx")
    assert unchanged.holds
    before = model(x)
    with torch.no_grad():
        net.bias.add_(1)
    assert np.array_equal(model(x), before)
    for ask in (lambda: convoy.port(model, tmp_path / "b.onnx"), lambda: convoy.to_torch(model),
                lambda: convoy.port(copy.deepcopy(model), tmp_path / "b.onnx"), lambda: convoy.copy_weights(model, nn.Linear(6, 4).eval(), x)):  # fmt: skip
        with pytest.raises(convoy.UsageError, match="has changed since"):
            ask()
    assert not (tmp_path / "b.onnx").exists()


def test_a_file_that_was_replaced_is_not_unpickled(convoy, tmp_path):
    file = tmp_path / "net.keras"
    keras.Sequential([L.Input((6,)), L.Dense(4)]).save(file)
    kept = pickle.dumps(convoy.load(file))
    pickle.loads(kept)
    keras.Sequential([L.Input((6,)), L.Dense(4)]).save(file)
    with pytest.raises(convoy.UsageError, match="has changed since"):
        pickle.loads(kept)


def test_weights_that_a_model_was_read_with_are_those_that_are_copied(convoy, tmp_path):
    (tmp_path / "net.py").write_text("import torch.nn as nn\ndef Net(): return nn.Sequential(nn.Linear(6, 4))\n")
    weights = {"0.weight": np.arange(24, dtype="float32").reshape(4, 6), "0.bias": np.ones(4, "float32")}
    model, target = convoy.load(f"{tmp_path}/net.py:Net()", shapes=(None, 6), weights=weights), nn.Sequential(nn.Linear(6, 4)).eval()
    convoy.copy_weights(model, target, torch.from_numpy(X))
    assert np.array_equal(target[0].weight.detach().numpy(), weights["0.weight"])


def test_a_part_of_a_model_is_ported_and_pickled(convoy, tmp_path):
    file = tmp_path / "net.keras"
    keras.Sequential([L.Input((6,)), L.Dense(4, name="first"), L.Dense(2, name="second")]).save(file)
    part = convoy.load(file).outputs_at("first")
    convoy.port(part, tmp_path / "part.onnx")
    assert np.array_equal(convoy.load(tmp_path / "part.onnx")(X), part(X))
    assert np.array_equal(pickle.loads(pickle.dumps(part))(X), part(X))


@pytest.mark.parametrize("dtype, number", [("int8", 200), ("uint8", -1), ("uint8", 300), ("int16", 70000), ("int32", 2**32 + 5), ("int64", 2**64 - 1)])
def test_whole_numbers_do_not_wrap_round(convoy, dtype, number):
    class Next(nn.Module):
        def forward(self, x):
            return x + 1

    model = convoy.load(Next().eval(), torch.zeros(2, dtype=getattr(torch, dtype)))
    assert np.array_equal(model(np.array([3, 4])), [4, 5])
    with pytest.raises(convoy.UsageError, match=f"{dtype}, which has no {number}"):
        model(np.array([number, number], "uint64" if number > 2**63 else "int64"))


def test_a_live_port_is_float32_on_the_cpu_and_can_be_trained(convoy):
    net = keras.Sequential([L.Input((6,)), L.Dense(4)])
    torch.set_default_dtype(torch.float16)
    try:
        with torch.device("meta"), torch.inference_mode():
            port = convoy.to_torch(net)
        assert torch.get_default_dtype() is torch.float16
    finally:
        torch.set_default_dtype(torch.float32)
    assert np.allclose(port(torch.from_numpy(X)).detach().numpy(), np.asarray(net(X)), atol=1e-5)
    port(torch.from_numpy(X)).sum().backward()


def test_what_forward_keeps_is_no_tensor_without_numbers_afterwards(convoy):
    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 6)

        def forward(self, x):
            if not hasattr(self, "places"):
                self.places = torch.arange(6.0)
            return self.layer(x) + self.places

    module = Keeps().eval()
    x = torch.from_numpy(X)
    model = convoy.load(module, x)
    assert type(module(x)) is torch.Tensor
    assert np.allclose(model(x), module(x).detach().numpy(), atol=1e-5)


def test_modules_are_read_from_several_threads(convoy):
    x, right = torch.from_numpy(X), []

    def read():
        net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)).eval()
        right.append(np.allclose(convoy.load(net, x)(x), net(x).detach().numpy(), atol=1e-5))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert right == [True] * 4


def test_a_batch_of_one_is_free_as_others_are(convoy):
    net = nn.Conv2d(3, 4, 3).eval()
    model = convoy.load(net, torch.zeros(1, 3, 8, 8))
    assert model.inputs[0].shape == (None, 3, 8, 8)


def test_keras_that_computes_with_torch(convoy, tmp_path):
    """There a keras.Model is a torch.nn.Module as well."""
    program = """
import numpy as np, keras, convoy
model = keras.Sequential([keras.layers.Input((9, 8, 3)), keras.layers.Conv2D(4, 3, strides=2, padding="same")])
x = np.linspace(-1, 1, 2 * 9 * 8 * 3, dtype="float32").reshape(2, 9, 8, 3)
assert np.allclose(convoy.load(model)(x), model(x).detach().numpy(), atol=1e-5)
assert convoy.to_torch(model) is not None
"""
    place = {"PYTHONPATH": str(Path(convoy.__file__).parents[1]), "KERAS_BACKEND": "torch"}
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, **place}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_weights_of_bytes(convoy):
    file = io.BytesIO()
    torch.save(nn.Linear(2, 3).state_dict(), file)
    assert set(convoy.weights(file.getvalue())) == {"weight", "bias"}


def test_a_warning_points_at_the_line_that_called(convoy, tmp_path):
    net, x = nn.Linear(6, 4), torch.from_numpy(X)
    for ask in (lambda: convoy.load(net, x), lambda: convoy.port(net, tmp_path / "a.onnx", x), lambda: convoy.to_torch(net, x), lambda: convoy.to_onnx(net, x),
                lambda: convoy.diff(net, net, x), lambda: convoy.assert_same(net, net, x), lambda: convoy.copy_weights(net, net, x)):  # fmt: skip
        with pytest.warns(convoy.Warning, match="training mode") as told:
            ask()
        assert {one.filename for one in told} == {__file__}


def dense() -> nn.Module:
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh()).eval()


@pytest.mark.parametrize("given", [lambda x: x[::-1], lambda x: x.tolist(), np.asfortranarray, lambda x: x.astype(">f4"), lambda x: x.astype("float64"),
                                   lambda x: x.astype("float16"), lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: [list(row) for row in x],
                                   lambda x: torch.from_numpy(x).requires_grad_(), lambda x: torch.from_numpy(np.ascontiguousarray(x.T)).t()],
                         ids=["backwards", "list", "columns first", "big-endian", "float64", "float16", "strided", "rows of numpy's", "gradients", "turned"])  # fmt: skip
def test_example_inputs_lie_as_they_like(convoy, given):
    """The same arrays are taken where a model is called; real numbers that are no tensor's have the type of the parameters."""
    net, x = dense(), given(X.copy())
    model = convoy.load(net, x)
    assert (model.inputs[0].shape, model.inputs[0].dtype) == ((None, 6), "float32")
    tensor = x.detach() if torch.is_tensor(x) else torch.from_numpy(np.array(x, "float32"))
    assert np.allclose(model(x), net(tensor).detach(), atol=1e-5)
    assert convoy.diff(net, model, x).same


def test_no_type_is_chosen_for_a_module_of_several(convoy):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 4), nn.Linear(4, 2).double()

        def forward(self, x):
            return self.b(self.a(x.float()).double())

    assert [convoy.load(Mixed().eval(), X.astype(kind)).inputs[0].dtype for kind in ("float32", "float64")] == ["float32", "float64"]
    assert convoy.load(dense().half(), X).inputs[0].dtype == "float16"


def test_what_the_module_itself_refuses_is_no_example(convoy, capfd):
    """torch.export heeds no types, and prints a page for what it raises."""
    net = dense()
    with pytest.raises(convoy.UsageError, match=r"Sequential: the module does not take the example input, which is float64 \(RuntimeError: mat1"):
        convoy.load(net, torch.from_numpy(X).double())
    with pytest.raises(convoy.Unsupported, match="same reduction dim"):
        convoy.load(net, torch.zeros(2, 7))
    for wrong, words in ((np.ma.masked_array(X, X > 0), "masked"), (np.array([None]), "dtype object"), (X.astype("complex64"), "dtype complex64"),
                         ([[1.0, 2.0], [3.0]], "no tensor .*length 2")):  # fmt: skip
        with pytest.raises(convoy.UsageError, match=f"Sequential: an example input.*{words}"):
            convoy.load(net, wrong)
    assert capfd.readouterr() == ("", "")


def test_a_module_beside_keras_takes_pictures_of_any_kind(convoy):
    model = keras.Sequential([L.Input((5, 7, 3)), L.Conv2D(4, 3)])
    port, x = convoy.to_torch(model), np.linspace(-1, 1, 210, dtype="float32").reshape(2, 5, 7, 3)
    for given in (x[::-1], x.tolist(), torch.from_numpy(x).requires_grad_()):
        assert convoy.diff(model, port, given).same


def test_several_inputs_in_a_list_are_compared(convoy):
    a, b = keras.Input((6,), name="a"), keras.Input((3,), name="b")
    model = keras.Model([a, b], L.Concatenate()([L.Dense(2)(a), b]))
    given = [X, X[:, :3].copy()]
    port = convoy.to_torch(model)
    assert len(convoy.load(model)(given)) == 2
    assert convoy.diff(model, convoy.to_onnx(model), given).same
    assert convoy.diff(model, port, given).same and convoy.diff(model, port, *given).same


class Keeping(nn.Module):
    """Keeps something in Python; `call` says what it does with it."""

    def __init__(self, kept, call):
        super().__init__()
        self.layer, self.kept, self.call = nn.Linear(6, 6), kept, call

    def forward(self, x):
        return self.call(self, self.layer(x))


def counting(self, y):
    self.kept += 1
    return y * self.kept


def once(self, y):
    y, self.kept = (y + 1 if self.kept else y), False
    return y


def listing(self, y):
    self.kept.append(y)
    return y + len(self.kept)


def carrying(self, y):
    self.kept = (y + self.kept).mean(0)
    return y + self.kept


def holding(self, y):
    self.kept["steps"][0] += 1
    return y + self.kept["steps"][0]


def tabling(self, y):
    if "places" not in self.kept:
        self.kept["places"] = torch.arange(6.0)
    return y + self.kept["places"]


def noting(self, y):
    self.kept = tuple(y.shape)
    return y


@pytest.mark.parametrize("kept, call, words", [(0, counting, r"'kept' \(0, then 1\)"), (True, once, r"'kept' \(True, then False\)"), ([], listing, "'kept'"),
                                               (torch.zeros(6), carrying, "'kept'"), ({"steps": [3]}, holding, "'kept'")])  # fmt: skip
def test_what_a_module_keeps_in_python_is_said(convoy, kept, call, words):
    module, x = Keeping(copy.deepcopy(kept), call).eval(), torch.from_numpy(X)
    wanted = copy.deepcopy(module)(x).detach()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = convoy.load(module, x)
    assert [one.filename for one in told] == [__file__] and re.search(f"Keeping: {words} changes each time the module is called", str(told[0].message))
    assert np.allclose(model(x), wanted, atol=1e-5)
    assert torch.equal(module(x), wanted) and not module._forward_hooks and not module._forward_pre_hooks


@pytest.mark.parametrize("made", [lambda: Keeping({}, tabling), lambda: Keeping(None, noting), lambda: nn.LSTM(6, 6)])
def test_what_changes_no_answer_is_not(convoy, made):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*(goes another way|outputs within outputs)", convoy.Warning)
        convoy.load(made().eval(), torch.from_numpy(X))


class Choosing(nn.Module):
    """Takes what is no tensor, and gives None beside what is one."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x, mask=None, mode="plain", doubled=False, y=None):
        x = self.layer(x) if mask is None else self.layer(x) * mask
        x = x if mode == "plain" else torch.relu(x)
        return (x if y is None else x + y) * (2 if doubled else 1), None


@pytest.mark.parametrize("given", [(None,), (None, "relu"), (None, "plain", True), (None, "plain", False, X)])
def test_what_is_no_tensor_is_what_it_was_in_the_example(convoy, tmp_path, given):
    module, tensors = Choosing().eval(), [torch.from_numpy(X), *(torch.from_numpy(one) for one in given if isinstance(one, np.ndarray))]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = convoy.load(module, X, *given)
    said = [str(one.message).partition(": ")[2] for one in told]
    assert said == [*("input 'mode' is no tensor: the program does what it was exported with, and takes no other" for one in given[1:2]),
                    *("input 'doubled' is no tensor: the program does what it was exported with, and takes no other" for one in given[2:3]),
                    "gives None among its outputs, which no graph gives: it is left out"]  # fmt: skip
    wanted = module(torch.from_numpy(X), *(torch.from_numpy(one) if isinstance(one, np.ndarray) else one for one in given))[0].detach()
    assert len(model.inputs) == len(tensors)
    assert np.allclose(model(*tensors), wanted, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", convoy.Warning)
        assert convoy.port(module, tmp_path / "m.onnx", X, *given).holds


def test_inputs_of_one_batch_are_no_condition_to_speak_of(convoy):
    class Sum(nn.Module):
        def forward(self, given, z):
            return given["x"] + given["y"] * z

    x = torch.from_numpy(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = convoy.load(Sum().eval(), {"x": x, "y": x}, x)
    assert model(X[:1], X[:1], X[:1]).shape == (1, 6)


def test_the_text_of_a_port_outlives_its_file(convoy):
    port = convoy.to_torch(dense(), X)
    assert inspect.getsource(type(port)) in port.source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(port)
    x = torch.from_numpy(X)
    assert torch.equal(scripted(x), port(x))


def test_live_models_go_by_their_names(convoy):
    """Which is which, in a failure and in a table of two."""
    model = keras.Sequential([keras.Input((6,)), L.Dense(4)], name="digits")
    other = convoy.to_torch(model)
    with torch.no_grad():
        other.get_parameter(next(name for name, _ in other.named_parameters())).mul_(2)
    with pytest.raises(AssertionError, match=r"a  digits\.keras .*\nb  Port\.pt2 "):
        convoy.assert_same(model, other, X)
    with pytest.raises(convoy.Unsupported, match=r"^Odd\.pt2: .*rand"):
        convoy.load(type("Odd", (nn.Module,), {"forward": lambda self, x: x + torch.rand(6)})().eval(), X)
    live = convoy.load(model)
    assert copy.copy(live) is live and copy.deepcopy(live) is live


# What torch.export refuses, and source says.

SLOPE = 0.25
ACTIVATIONS = {"relu": nn.ReLU, "elu": functools.partial(nn.ELU, alpha=0.5)}


def gate(x):
    return x * torch.sigmoid(x)


class Settings:
    def __init__(self, width):
        self.width = width


class PaddedBefore(nn.Conv2d):
    def forward(self, x):
        return super().forward(torch.nn.functional.pad(x, (1, 2, 0, 1)))


class OneMore(nn.Sequential):
    def forward(self, x):
        for layer in self:
            x = layer(x) + 1
        return x


class Gated(nn.Module):
    def tail(self, x):
        return gate(x) * SLOPE


class Kept(Gated):
    """As programs keep things: none of it says what the constructors were called with."""

    factor = 3

    def __init__(self, settings, n):
        super().__init__()
        self.settings, self.n = settings, n
        self.parent = [self]
        self.padded = PaddedBefore(3, 6, (2, 4), stride=(1, 2))
        self.line = OneMore(nn.Conv2d(6, 6, 1), nn.BatchNorm2d(6, eps=1e-3))
        self.twice = self.line[0]
        self.blocks = nn.ModuleList([nn.Conv2d(6, 6, 3, padding=1, groups=2), nn.Identity()])
        self.heads = nn.ModuleDict({"a": nn.Linear(6, 5), "b": nn.Linear(6, 5, bias=False)})
        self.heads["b"].weight = self.heads["a"].weight
        self.activations = [ACTIVATIONS["relu"](), ACTIVATIONS["elu"](), nn.LeakyReLU(0.3)]
        self.leaky = functools.partial(torch.nn.functional.leaky_relu, negative_slope=0.2)
        self.scale = nn.Parameter(torch.rand(6, 1, 1))
        self.register_buffer("shift", torch.rand(6, 1, 1), persistent=False)
        self.table = torch.rand(5)
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)
        self.lstm = nn.LSTM(6, 3, 2, bidirectional=True, batch_first=True)
        self.unused = lambda x: x

    @property
    def double(self):
        return 2 * self.n

    def forward(self, x, mask=None, thrice=False):
        x = self.line(self.padded(x)) * self.scale + self.shift
        x = self.twice(x)
        for layer in [*self.blocks, *self.activations]:
            x = layer(x)
        x = self.leaky(x + self.double * self.factor - 7)
        y = x.flatten(2).transpose(1, 2)
        y = self.lstm(y + self.attention(y, y, y)[0])[0]
        z = self.heads["a"](y) + self.heads["b"](y) * self.table * self.settings.width
        return self.tail(z * 3 if thrice else z)


class Packed(nn.Module):
    """Sequences of unlike lengths, which torch.export of torch 2.13 does not take."""

    def __init__(self, width):
        super().__init__()
        self.lstm = nn.LSTM(3, width, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=5)[0]


class Routed(nn.Module):
    def forward(self, x):
        if x.mean() > 0:
            return x
        return -x


def closing_over(k):
    class Closed(nn.Module):
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(6, 4)

        def forward(self, x):
            return self.line(x) * k

    return Closed()


def test_what_torch_export_refuses_is_read_as_source(convoy, tmp_path, caplog):
    caplog.set_level("INFO", "convoy")
    module, inputs = Packed(4).eval(), (torch.randn(2, 5, 3), torch.tensor([5, 3]))
    with pytest.warns(convoy.Warning, match=r"^Packed: torch.export does not take the module \(.*\); it was read as source"):
        model = convoy.load(module, *inputs)
    assert "PyTorch source" in caplog.text
    assert np.allclose(model(*inputs), module(*inputs).detach(), atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "PyTorch source" in convoy.port(module, tmp_path / "p.onnx", *inputs).text
        assert convoy.diff(module, tmp_path / "p.onnx", *inputs).same
        other = Packed(4).eval()
        convoy.copy_weights(module, other, *inputs)
    assert torch.equal(other.lstm.weight_hh_l0, module.lstm.weight_hh_l0)


@pytest.mark.parametrize("made, inputs", [
    (lambda: Kept(Settings(4), 2), (torch.rand(2, 3, 5, 8), None, True)),
    (lambda: closing_over(5), (X,)),
    (lambda: nn.Sequential(nn.Conv1d(3, 4, 3, padding="same"), nn.Flatten(), nn.Linear(20, 2)), (torch.rand(2, 3, 5),)),
    (lambda: nn.Linear(6, 4, dtype=torch.float64), (X,)),
])  # fmt: skip
def test_a_live_module_s_source_has_the_settings_that_the_module_has(convoy, monkeypatch, made, inputs):
    def refuses(*_, **__):
        raise RuntimeError("not today")

    module = made().eval()
    with torch.no_grad():
        for one in module.parameters():
            one.add_(0.125)
    wanted = module(*[torch.as_tensor(x).to(next(module.parameters())) if hasattr(x, "shape") else x for x in inputs]).detach()
    monkeypatch.setattr(torch.export, "export", refuses)
    with pytest.warns(convoy.Warning, match="not today.*read as source"):
        model = convoy.load(module, *inputs)
    assert model.inputs[0].shape[0] is None
    assert np.allclose(model(inputs[0]), wanted, atol=1e-5)


def test_a_live_module_s_source_is_held_against_the_module_in_float64(convoy, monkeypatch):
    """Numbers that are off by 3 of 100,000, which float32's rounding of long sums would cover."""
    from convoy import _live_source

    def refuses(*_, **__):
        raise RuntimeError("not today")

    tensors = _live_source._tensors
    monkeypatch.setattr(torch.export, "export", refuses)
    monkeypatch.setattr(_live_source, "_tensors", lambda module: [(name, one * 1.00003) for name, one in tensors(module)])
    with pytest.raises(convoy.Unsupported, match="not today.*other numbers for the example than the module itself"):
        convoy.load(nn.Sequential(nn.Linear(6, 4), nn.Tanh()).eval(), X)


class Bounded(nn.Module):
    most = 90.0

    def bound(self, x, most=90.0):
        return x.clamp(max=min(most, self.most))

    def forward(self, x):
        return self.bound(x)


class Unregistered(nn.Module):
    def __init__(self):
        super().__init__()
        self.lines = [nn.Linear(6, 6)]

    def forward(self, x):
        return self.lines[0](x)


def bounded_by(most):
    class Closed(nn.Module):
        def forward(self, x):
            return x.clamp(max=most)

    return Closed()


def six(most, **settings):
    module = nn.ReLU6(**settings)
    module.max_val = most
    return module


def with_its_own(name, value):
    module = Bounded()
    setattr(module, name, value)
    return module


@pytest.mark.parametrize("change, words", [
    (lambda patch: patch.setattr(Bounded, "most", 20.0), "'most' of Bounded is 20.0, and its text says 90.0"),
    (lambda patch: patch.setattr(Bounded, "bound", lambda self, x: x.clamp(max=20.0)), "'bound' of Bounded is not what its text says"),
    (lambda patch: patch.setattr(Bounded.bound, "__defaults__", (20.0,)), "a default of 'bound' of Bounded is 20.0, and its text says 90.0"),
    (lambda patch: patch.setattr(Bounded, "more", 1, raising=False), "'more' of Bounded was given to it outside its text"),
])  # fmt: skip
def test_a_class_that_is_not_what_its_text_says_is_refused(convoy, monkeypatch, change, words):
    def refuses(*_, **__):
        raise RuntimeError("not today")

    monkeypatch.setattr(torch.export, "export", refuses)
    change(monkeypatch)
    with pytest.raises(convoy.Unsupported, match=f"not today.*{words}"):
        convoy.load(Bounded().eval(), X)


@pytest.mark.parametrize("made, words", [
    (Unregistered, "Linear is kept where PyTorch does not look for layers"),
    (lambda: nn.Sequential(bounded_by(90.0), bounded_by(30.0)), "'Closed' is one thing"),
    (lambda: nn.Sequential(six(20.0)), "'max_val' of torch.nn.modules.activation.ReLU6 is 20.0"),
    (lambda: nn.Sequential(six(20.0, inplace=True)), "'max_val' of torch.nn.modules.activation.ReLU6 is 20.0"),
    (lambda: nn.Sequential(with_its_own("bound", lambda x: x.clamp(max=20.0))), "was given another bound"),
    (lambda: with_its_own("bound", lambda x: x.clamp(max=20.0)), "other numbers for numbers around 64"),
])  # fmt: skip
def test_a_module_that_its_text_does_not_say_is_refused_whatever_the_example_shows(convoy, monkeypatch, made, words):
    def refuses(*_, **__):
        raise RuntimeError("not today")

    monkeypatch.setattr(torch.export, "export", refuses)
    with pytest.raises(convoy.Unsupported, match=f"not today.*{words}"):
        convoy.load(made().eval(), X)


def test_a_layer_of_keras_that_was_given_another_call_is_refused(convoy):
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, name="last")])
    layer = model.layers[0]
    layer.call = lambda x: ops.minimum(ops.matmul(x, layer.kernel), 20.0)
    with pytest.raises(convoy.Unsupported, match="layer 'last' was given another call"):
        convoy.load(model)


def test_a_program_with_some_float64_rounds_the_rest_as_it_does(convoy, tmp_path):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(6, 4).to(torch.bfloat16)

        def forward(self, x):
            return self.line(x.to(torch.bfloat16)).float(), x.double() / 3

    module, x = Mixed().eval(), torch.arange(12.0).reshape(2, 6) / 7
    narrow, wide = convoy.load(module, x)(x)
    assert np.array_equal(narrow, module(x)[0].detach())
    assert np.abs(wide - module(x)[1].numpy()).max() <= 2.0**-52


def test_a_module_that_neither_way_reads_says_both_reasons(convoy, monkeypatch):
    line = inspect.getsourcelines(Routed)[1] + 2
    with pytest.raises(convoy.Unsupported, match=rf"^Routed(\.pt2)?: torch.export does not take the module \(.*\); as source it is not read either "
                                                 rf"\(test_python_live.py:{line}:\d+: a decision by the numbers of a tensor"):
        convoy.load(Routed().eval(), X)

    def refuses(*_, **__):
        raise RuntimeError("not today")

    monkeypatch.setattr(torch.export, "export", refuses)
    module = nn.Sequential(nn.Linear(6, 4)).eval()
    module[0].register_forward_hook(lambda module, inputs, output: output * 2)
    with pytest.raises(convoy.Unsupported, match="not today.*has a hook"):
        convoy.load(module, X)
    with pytest.raises(convoy.Unsupported, match="not today.*the source of .*Odd is not at hand"):
        convoy.load(type("Odd", (nn.Module,), {"forward": lambda self, x: x + 1})().eval(), X)

    class Depends(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = iter([])

        def forward(self, x):
            return x * 2 if hasattr(self, "seen") else x

    with pytest.raises(convoy.Unsupported, match="not today.*other numbers for the example than the module itself"):
        convoy.load(Depends().eval(), X)


class Pair(nn.Module):
    def forward(self, both, mask=None):
        return both[0] + 2 * both[1]


def test_examples_in_a_list_or_a_tuple_are_the_arguments_unless_the_module_takes_it_whole(convoy, monkeypatch):
    exports = []
    export = torch.export.export
    monkeypatch.setattr(torch.export, "export", lambda *args, **named: exports.append(args) or export(*args, **named))
    net, x = nn.Linear(6, 4).eval(), torch.from_numpy(X)
    for given in ([x], (x,), x):
        exports.clear()
        assert np.allclose(convoy.load(net, given)([x]), net(x).detach(), atol=1e-6)
        assert len(exports) == 1
    assert len(convoy.load(Pair(), [x, x]).inputs) == 2
    with pytest.raises(convoy.UsageError, match="takes the example input as one argument and as all of them, and answers otherwise"):
        convoy.load(lambda x: x * 2, [x])  # of a list, the same once more
    assert convoy.load(net, x)([X[0]]).shape == (1, 4)  # a batch of one, as an array of it


def test_functions_and_layers_are_models(convoy, tmp_path):
    weights = torch.rand(6, 4)

    def project(x, scale):
        return torch.relu(x) @ weights * scale

    x, scale = torch.from_numpy(X), torch.rand(4)
    model = convoy.load(project, x, scale)
    assert [value.name for value in model.inputs] == ["x", "scale"] and "project" in model.source
    assert np.allclose(model(x, scale), project(x, scale), atol=1e-6)
    net = nn.Linear(6, 4).eval()
    convoy.assert_same(lambda x: net(x), net, x)
    with pytest.raises(convoy.UsageError, match="project: .*needs an example input: give x"):
        convoy.load(project)

    layer = L.Dense(5, activation="relu")
    with pytest.raises(convoy.UsageError, match="a layer alone does not say the shape of its input: give an example input"):
        convoy.load(layer)
    assert np.allclose(convoy.load(layer, X)(X), np.asarray(layer(X)), atol=1e-6)
    assert convoy.diff(layer, convoy.to_torch(layer), X).same and convoy.load(layer).outputs[0].shape == (None, 5)
    assert not layer._inbound_nodes
    assert convoy.load(L.Embedding(9, 3), np.ones((2, 4), "int32")).inputs[0].dtype == "int32"
    attention = L.MultiHeadAttention(2, 3)
    both = np.random.default_rng(0).random((2, 5, 3), dtype="float32"), np.random.default_rng(1).random((2, 7, 3), dtype="float32")
    assert np.allclose(convoy.load(attention, *both)(*both), np.asarray(attention(*both)), atol=1e-5)
    with pytest.raises(convoy.UsageError, match=r"is a class: give a model that was made of it, Linear\(...\)"):
        convoy.load(nn.Linear, x)


@pytest.mark.parametrize("made, shapes", [
    (L.Add, [(2, 5), (2, 5)]), (lambda: L.Concatenate(axis=1), [(2, 5, 3), (2, 4, 3)]), (lambda: L.Dot((2, 1)), [(2, 5, 3), (2, 3, 4)]), (L.Multiply, [(2, 5)] * 3),
    (L.Attention, [(2, 5, 3), (2, 4, 3)]), (L.AdditiveAttention, [(2, 5, 3), (2, 4, 3)]), (lambda: L.MultiHeadAttention(2, 3), [(2, 5, 3), (2, 4, 3), (2, 4, 3)]),
], ids=["Add", "Concatenate", "Dot", "Multiply", "Attention", "AdditiveAttention", "MultiHeadAttention"])  # fmt: skip
def test_a_layer_of_several_inputs_takes_them_one_by_one_or_in_a_list(convoy, made, shapes):
    keras.utils.set_random_seed(3)
    layer = made()
    given = [np.random.default_rng(n).standard_normal(shape).astype("float32") for n, shape in enumerate(shapes)]
    wanted = np.asarray(layer(*given) if isinstance(layer, L.MultiHeadAttention) else layer(given))
    for example in (given, [given], [tuple(given)]):
        model = convoy.load(layer, *example)
        assert [one.shape[1:] for one in model.inputs] == [shape[1:] for shape in shapes]
        assert np.allclose(model(*given), wanted, atol=1e-5)
    assert np.allclose(convoy.to_torch(layer, *given)(*map(torch.from_numpy, given)).detach(), wanted, atol=1e-5)
    assert not layer._inbound_nodes


def test_a_layer_of_one_s_own_takes_a_dict(convoy):
    class Both(L.Layer):
        def call(self, given):
            return given["first"] - given["second"]

    given = {"first": X, "second": X[:, ::-1]}
    model = convoy.load(Both(), given)
    assert [one.name for one in model.inputs] == ["first", "second"] and np.allclose(next(iter(model(given).values())), X - X[:, ::-1])
