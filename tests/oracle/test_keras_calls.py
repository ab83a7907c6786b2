"""What stands in a call of a Keras layer: training=True of layers to which it means nothing, and slices of the first axis."""

import importlib.util

import numpy as np
import pytest
from carrying import assert_close, convoy

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
