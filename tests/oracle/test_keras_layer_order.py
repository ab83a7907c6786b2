"""Weights of layers of one class and one shape are told apart in Keras's files by the order in which a model keeps its layers, and that
follows from how Keras flattens what calls read and models give: dictionaries and arguments by name in the order of their names."""
import inspect
import sys

import keras
import numpy as np
import pytest
import torch
from carrying import convoy, run_natively
from keras import layers as L
from keras import ops
from torch import nn

PREFACE = "import keras\nfrom keras import layers as L\nfrom keras import ops\n\n\n"


class Own(L.Layer):
    def __init__(self, **more):
        super().__init__(**more)
        self.line = L.Dense(6)

    def call(self, x, other=None, more=None):
        return self.line(x) - other * more


def attention(x):
    q, v, k = L.Dense(6)(x), L.Dense(6)(x), L.Dense(6)(x)
    return L.MultiHeadAttention(2, 3)(q, value=v, key=k)


def own(x):
    return Own()(L.Dense(6)(x), other=L.Dense(6)(x), more=L.Dense(6)(x))


def subtract(x):
    return ops.subtract(x2=L.Dense(6)(x), x1=L.Dense(6)(x))


def take(x):  # a function hands its arguments on in an order of its own
    return ops.take_along_axis(x=L.Dense(6)(x), indices=ops.cast(ops.relu(L.Dense(6)(x)) * 0, "int32"), axis=1)


def dictionary(x):
    return {"z": L.Dense(6)(x), "y": L.Dense(6)(x), "Z": L.Dense(6)(x)}


@pytest.mark.parametrize("function", [attention, own, subtract, take, dictionary], ids=lambda function: function.__name__)
def test_weights_of_a_program_go_to_the_layers_that_keras_counts(function, tmp_path):
    keras.utils.clear_session()
    keras.utils.set_random_seed(3)
    x = keras.Input((5, 6), name="x")
    model = keras.Model(x, function(x))
    for weight in model.weights:
        weight.assign(keras.random.normal(weight.shape))
    model.save_weights(tmp_path / "net.weights.h5")
    parts = [inspect.getsource(Own), inspect.getsource(function), f'x = keras.Input((5, 6), name="x")\nmodel = keras.Model(x, {function.__name__}(x))\n']
    (tmp_path / "net.py").write_text(PREFACE + "\n\n".join(parts))
    given = np.random.default_rng(4).standard_normal((2, 5, 6)).astype("f4")
    got = run_natively([tmp_path / "net.py:model", "--weights", tmp_path / "net.weights.h5"], {"x": given}, tmp_path)
    for one, wanted in zip(got, keras.tree.flatten(model(given)), strict=True):
        assert np.allclose(one, wanted, atol=1e-4)


@pytest.mark.parametrize("suffix", [".keras", ".h5", ".py"])
def test_a_dictionary_of_pytorch_keeps_its_weights_in_keras(suffix, tmp_path, monkeypatch):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return {"z": self.a(x), "y": self.b(x), "Z": self.c(x)}

    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(2, 4)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    port = tmp_path / f"ported{suffix}"
    convoy("port", tmp_path / "net.pt2", "--to", "keras", "-o", port)
    if suffix == ".py":
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "ported", raising=False)
        model = __import__("ported").load()
    else:
        model = keras.models.load_model(port, compile=False)
    got, wanted = model(x.numpy()), net(x)
    assert set(got) == set(wanted)
    for name, y in wanted.items():
        assert np.allclose(got[name], y.detach(), atol=1e-6), name
