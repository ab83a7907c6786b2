"""What stands in a call of a Keras layer: training=True of layers to which it means nothing, and slices of the first axis."""

import importlib.util

import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

IMAGES = np.random.default_rng(3).normal(size=(2, 6, 5, 3)).astype(np.float32)


def test_a_resizing_that_keras_calls_in_training_mode_is_carried(tmp_path):
    import keras

    x = keras.Input((6, 5, 3))
    model = keras.Model(x, keras.layers.Conv2D(2, 3)(keras.layers.Resizing(8, 9)(x)))
    model.save(tmp_path / "m.keras")
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "again.keras")
    again = keras.saving.load_model(tmp_path / "again.keras")
    assert_close([np.asarray(again(IMAGES))], [np.asarray(model(IMAGES))], 2e-5, "keras")


@pytest.mark.parametrize("name", ["Dropout", "BatchNormalization", "GaussianNoise", "LSTM"])
def test_what_acts_in_training_is_refused_in_training_mode(name, tmp_path):
    import keras

    x = keras.Input((6, 3) if name == "LSTM" else (6, 5, 3))
    layer = getattr(keras.layers, name)(*{"Dropout": [0.5], "GaussianNoise": [0.5], "LSTM": [2]}.get(name, []))
    keras.Model(x, layer(x, training=True)).save(tmp_path / "m.keras")
    done = convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.onnx", code=6)
    assert "training" in done.stderr, done.stderr


def test_a_slice_of_the_first_axis_is_written_as_keras_takes_it(tmp_path):
    import torch

    class Halves(torch.nn.Module):
        def forward(self, x):
            return x[:1] * 2 + x[1:]

    torch.export.save(torch.export.export(Halves(), (torch.from_numpy(IMAGES),)), tmp_path / "m.pt2")
    convoy("port", tmp_path / "m.pt2", "--to", "keras", "-o", tmp_path / "m.py", "--interface", "source")
    spec = importlib.util.spec_from_file_location("m", tmp_path / "m.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert_close([np.asarray(module.load()(IMAGES))], [IMAGES[:1] * 2 + IMAGES[1:]], 2e-5, "keras")


# A result's bound is None in every file that says none.
def test_a_maximum_is_carried_without_a_bound_alone(tmp_path):
    import keras

    x = keras.Input((6, 5, 3))
    keras.Model(x, [keras.ops.max(x, axis=1), keras.ops.amin(x, axis=(1, 2), keepdims=True)]).save(tmp_path / "m.keras")
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.onnx")
    keras.Model(x, keras.ops.max(x, axis=1, initial=0.5)).save(tmp_path / "n.keras")
    done = convoy("port", tmp_path / "n.keras", "-o", tmp_path / "n.onnx", code=6)
    assert "'initial' is 0.5, expected null" in done.stderr, done.stderr

TRAINS = '''import keras
import tensorflow as tf
from keras import Model, layers, ops

class Noisy(layers.Layer):
    def __init__(self):
        super().__init__()
        self.drop = layers.Dropout(0.5)
    def call(self, x, training=None):
        return self.drop(x, training=training)

class Kept(layers.Dense):
    def build(self, shape):
        super().build(shape)
        self.g = self.add_weight(shape=(self.units,), initializer="ones", name="g")
    def call(self, x):
        return super().call(x) * self.g

class Net(Model):
    def __init__(self):
        super().__init__()
        self.l = {layer}
    def call(self, x, training=None):
        return self.l(x{more})
'''


@pytest.mark.parametrize("layer, more, refused", [
    ("layers.BatchNormalization()", ", training=True", True), ("layers.Dropout(0.5)", ", training=True", True), ("layers.GaussianNoise(0.5)", ", training=True", True),
    ("layers.LSTM(3, dropout=0.5)", ", training=True", True), ("Noisy()", ", training=True", True), ("layers.BatchNormalization()", ", training=False", False),
    ("layers.BatchNormalization()", ", training=training", False), ("layers.Dropout(0.5)", "", False), ("Noisy()", "", False), ("Noisy()", ", training=False", False),
    ("layers.Dense(3)", "", False), ("layers.Resizing(3, 2)", "[..., None], training=True", False), ("Kept(3)", "", False),
])
def test_layers_that_are_called_in_training(layer, more, refused, tmp_path):
    text = TRAINS.replace("{layer}", layer).replace("{more}", more)
    import keras

    (tmp_path / "net.py").write_text(text)
    names = {}
    keras.utils.set_random_seed(5)
    exec(text, names)  # noqa: S102
    x = np.random.default_rng(1).integers(-3, 4, (2, 5, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    if refused:
        done = convoy("run", f"{tmp_path / 'net.py'}:Net", "--input", tmp_path / "x.npy", "--seed", "5", code=6)
        assert "is called in training mode" in done.stderr, done.stderr
        return
    assert_close(run_natively([f"{tmp_path / 'net.py'}:Net"], {"x": x}, tmp_path, "--seed", "5"), [np.asarray(names["Net"]()(x, training=False))])


def test_attention_that_is_called_in_training(tmp_path):
    import keras

    x = keras.Input((5, 2))
    keras.Model(x, keras.layers.MultiHeadAttention(2, 2, dropout=0.5)(x, x, training=True)).save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", np.ones((1, 5, 2), np.float32))
    done = convoy("run", tmp_path / "net.keras", "--input", tmp_path / "x.npy", code=6)
    assert "is called in training mode" in done.stderr, done.stderr
