"""What live objects need not be told: shapes that the other model states, shapes of an example, weights at hand."""
import random
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from keras import layers as L
from torch import nn


@pytest.fixture(autouse=True)
def convoy(python_module):
    return python_module


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        return self.head(torch.relu(self.conv(x)).mean((2, 3)))


def of_keras():
    return keras.Sequential([L.Input((8, 9, 3)), L.Conv2D(4, 3, padding="same"), L.ReLU(), L.GlobalAveragePooling2D(), L.Dense(5)])


def test_the_other_model_says_the_shape(convoy, tmp_path):
    model, module = of_keras(), Net().eval()
    model.save(tmp_path / "net.keras")
    for a, b in ((model, module), (module, model), (tmp_path / "net.keras", module), (module, convoy.load(model))):
        assert not convoy.diff(a, b).same
    assert convoy.copy_weights(model, module).holds
    for a, b in ((model, module), (module, model), (tmp_path / "net.keras", module), (module, convoy.load(model))):
        convoy.assert_same(a, b)
    other = Net().eval()
    assert convoy.copy_weights(other, model).holds
    convoy.assert_same(other, model)
    with pytest.raises(convoy.UsageError, match="needs an example input"):
        convoy.diff(module, other)


def test_a_script_takes_the_shapes_of_the_example(convoy):
    module, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 6 * 6, 5)).eval(), torch.randn(1, 3, 8, 8)
    wanted = module(x).detach().numpy()
    for script in (torch.jit.script(module), torch.jit.trace(module, x)):
        assert convoy.load(script, x).inputs[0].shape == (None, 3, 8, 8)
        made = convoy.to_keras(script, x)
        np.testing.assert_allclose(made(x.numpy().transpose(0, 2, 3, 1)), wanted, atol=1e-5)
        np.testing.assert_allclose(convoy.to_torch(script, x)(x).detach(), wanted, atol=1e-5)
        for live in (script, module):
            with pytest.raises(convoy.UsageError, match="shapes and size"):
                convoy.load(live, x, shapes=(1, 3, 8, 8))


def test_a_script_takes_whole_numbers(convoy):
    script = torch.jit.script(nn.Embedding(7, 3).eval())
    assert convoy.load(script, torch.tensor([[1, 2]])).inputs[0].dtype == "int64"


def test_arguments_in_one_tuple(convoy):
    module, x = Net().eval(), torch.randn(2, 3, 8, 9)
    np.testing.assert_allclose(convoy.load(module, (x,))(x.numpy()), module(x).detach(), atol=1e-5)
    assert convoy.to_onnx(module, (x,))


def test_weights_at_hand(convoy):
    module, x = Net().eval(), torch.randn(2, 3, 8, 9)
    state = module.state_dict()
    for source in (state, module, convoy.load(module, x)):
        had = convoy.weights(source)
        assert list(had) == list(state)
        for name, one in had.items():
            np.testing.assert_array_equal(one, state[name])
    model = of_keras()
    for ours, theirs in zip(convoy.weights(model).values(), model.get_weights()):
        np.testing.assert_array_equal(ours, theirs)
    other = Net().eval()
    assert convoy.copy_weights(state, other, x).holds
    assert all(torch.equal(one, state[name]) for name, one in other.state_dict().items())
    before = {name: one.clone() for name, one in other.state_dict().items()}
    with pytest.raises(convoy.UsageError, match="none of this module's"):
        convoy.copy_weights({"conv.weight": state["conv.weight"]}, other, x)
    assert all(torch.equal(one, before[name]) for name, one in other.state_dict().items())
    with pytest.raises(convoy.UsageError, match="by the names of a torch.nn.Module"):
        convoy.copy_weights(state, model)


def test_numbers_of_frameworks_are_looked_at_where_they_lie(convoy):
    from convoy import _convoy
    from convoy._arguments import _array

    x = torch.ones(30, 50, requires_grad=True)
    assert _convoy.address_of(_array(x)) == x.data_ptr()
    for made in (tf.ones((30, 50)), tf.ones((30, 50), tf.int64), tf.cast(tf.ones((3, 5)), tf.bool)):
        assert _convoy.address_of(_array(made)) == np.asarray(memoryview(made)).ctypes.data
    np.testing.assert_array_equal(_array(tf.Variable([1.0, 2.0])), [1, 2])
    with pytest.raises(convoy.UsageError, match="is not taken"):
        _array(tf.constant(["a"]))


def test_tensors_without_dense_numbers_are_refused(convoy):
    net, x = convoy.load(Net().eval(), torch.randn(2, 3, 8, 9)), torch.randn(2, 3, 8, 9)
    for made, words in ((x.to_sparse(), "layout sparse_coo"), (x.to_mkldnn(), "layout _mkldnn"), (x.to("meta"), "'meta'")):
        with pytest.raises(convoy.UsageError, match=words):
            net(made)
    with torch.device("meta"):
        module = Net()
    with pytest.raises(convoy.UsageError, match="'conv.weight' lies on the device 'meta'"):
        convoy.load(module, x)


def test_a_model_that_is_not_built_is_called_once(convoy):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = L.Dense(3)
            self.norm = L.BatchNormalization()
            self.drop = L.Dropout(0.5)

        def call(self, x):
            return self.drop(self.norm(self.dense(x)))

    x = np.random.default_rng(1).normal(size=(2, 6)).astype("float32")
    for made in (Own, lambda: keras.Sequential([L.Dense(3), L.BatchNormalization(), L.Dropout(0.5)])):
        keras.utils.set_random_seed(7)
        by_hand = made()
        by_hand(x)
        drawn = random.random(), np.random.random()
        keras.utils.set_random_seed(7)
        model = made()
        with pytest.warns(convoy.Warning, match="called once with the example input"):
            net = convoy.load(model, x)
        assert (random.random(), np.random.random()) == drawn
        np.testing.assert_allclose(net(x), model(x), atol=1e-5)
        for ours, theirs in zip(model.get_weights(), by_hand.get_weights(), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        with warnings.catch_warnings():
            warnings.simplefilter("error", convoy.Warning)
            convoy.load(model, x)
    with pytest.raises(convoy.UsageError, match="is not built"):
        convoy.diff(Net().eval(), keras.Sequential([L.Conv2D(4, 3)]), torch.randn(1, 3, 8, 9))
    with pytest.raises(convoy.UsageError, match="is not called with the example input"):
        convoy.load(keras.Sequential([L.Conv2D(4, 3)]), x)
