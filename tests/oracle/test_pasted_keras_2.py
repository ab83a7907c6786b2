"""Keras programs as people paste them, those of Keras 1 and 2 among them (pasted_keras_2.py, pasted_keras_3.py): with the parameters that Keras
counts, bound to the weights that it saved, and equal; then as the PyTorch module that is written for them."""
import re

import numpy as np
import pytest
from carrying import assert_close, convoy, port, run_natively
from pasted_keras_2 import PROGRAMS
from pasted_keras_3 import PROGRAMS as MORE

TOLERANCE = 2e-5
ALL = PROGRAMS | MORE


def words_of_keras_1(layers) -> dict:
    """The constructors of Keras 1 by those of Keras 2."""
    renamed = {"border_mode": "padding", "subsample": "strides", "subsample_length": "strides", "init": "kernel_initializer",
               "W_regularizer": "kernel_regularizer", "bias": "use_bias", "output_dim": "units", "nb_filter": "filters"}

    def given(more: dict) -> dict:
        made = {renamed.get(word, word): value for word, value in more.items()}
        if made.pop("dim_ordering", "tf") == "th":
            made["data_format"] = "channels_first"
        return made

    def convolution(axes: int):
        def make(*placed, **more):
            more = given(more)
            kernel = [more.pop("filter_length")] if "filter_length" in more else list(placed[1:1 + axes])
            filters = more.pop("filters") if "filters" in more else placed[0]
            return getattr(layers, f"Conv{axes}D")(filters, tuple(kernel), **more)
        return make

    def merge(inputs, mode="sum", concat_axis=-1, dot_axes=-1, output_shape=None, name=None):
        if callable(mode):
            return layers.Lambda(mode, name=name)(inputs)
        made = {"concat": lambda: layers.Concatenate(axis=concat_axis, name=name), "dot": lambda: layers.Dot(dot_axes, name=name)}
        simple = {"sum": layers.Add, "mul": layers.Multiply, "ave": layers.Average, "max": layers.Maximum}
        return (made[mode]() if mode in made else simple[mode](name=name))(inputs)

    def layer(layers=None, **more):
        return lambda inputs: merge(inputs, **more)

    return {"Merge": layer, "Convolution1D": convolution(1), "Convolution2D": convolution(2), "merge": merge,
            "Dense": lambda *placed, **more: layers.Dense(*placed, **given(more)),
            "MaxPooling2D": lambda *placed, **more: layers.MaxPooling2D(*placed, **given(more))}


def made(version: int, text: str):
    """The model that Keras makes of it."""
    keras = pytest.importorskip("keras" if version == 3 else "tf_keras")
    keras.backend.clear_session()
    keras.utils.set_random_seed(2)
    scope = {word: getattr(keras.layers, word) for word in dir(keras.layers) if word[0].isupper()}
    scope |= {"Sequential": keras.Sequential, "Model": keras.Model, "keras": keras, "K": keras.backend, "__name__": "snippet"}
    now = re.sub(r"\b(tensorflow|tf)\.keras\b", keras.__name__, text)
    now = now.replace("from tensorflow import keras", "import keras")
    if version < 3:
        now = re.sub(r"^from keras\b", "from tf_keras", now, flags=re.M)
        now = re.sub(r"^import keras$", "import tf_keras as keras", now, flags=re.M)
        now = now.replace("import keras.backend as K", "import tf_keras.backend as K")
    if version == 1:
        now = re.sub(r"^from tf_keras\.layers(\.\w+)? import .*$", "", now, flags=re.M)
        now = re.sub(r"Model\(input=(.*), output=", r"Model(inputs=\1, outputs=", now)
        scope |= words_of_keras_1(keras.layers)
    exec(f"import {keras.__name__}\n{now}", scope)
    return scope["model"]


@pytest.mark.parametrize("name", sorted(ALL))
def test_pasted_keras(name, tmp_path):
    version, shapes, text = ALL[name]
    model = made(version, text)
    random = np.random.RandomState(1)
    inputs = {w: random.randint(0, 9, (2, *s)).astype(np.float32) if w.startswith("ids") else
              random.uniform(-1, 1, (2, *s)).astype(np.float32) for w, s in shapes.items()}
    given = list(inputs.values()) if len(inputs) > 1 else next(iter(inputs.values()))
    model(given)
    for weight in model.weights:
        path = getattr(weight, "path", weight.name)
        if "seed" not in path:
            low = 0.5 if "variance" in path or "gamma" in path else -0.5
            weight.assign(random.uniform(low, low + 1, weight.shape))
    weights = tmp_path / ("net.weights.h5" if version == 3 else "net.h5")
    model.save_weights(str(weights))
    want = model(given, training=False)
    want = [np.asarray(y) for y in (want if isinstance(want, (list, tuple)) else [want])]
    (tmp_path / "pasted.py").write_text(text)
    source = f"{tmp_path / 'pasted.py'}:model"
    shape = [w for k, x in inputs.items() for w in ("--shape", f"{k if len(inputs) > 1 else ''}={','.join(map(str, x.shape))}")]
    shape = [w.removeprefix("=") for w in shape]
    count = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
    said = convoy("summary", source, *shape).stdout
    assert f"({count:,} trainable" in said, said
    bound = [source, *shape, "--weights", weights]
    assert_close(run_natively(bound, inputs, tmp_path), want, TOLERANCE, name)
    assert_close(port(bound, tmp_path / "ported.py")(list(inputs.values())), want, TOLERANCE, name)


TWO_MODELS = """
from keras.models import Sequential
from keras.layers import Dense, Merge, Dropout
left = Sequential()
left.add(Dense(32, input_dim=8))
right = Sequential([Dense(31, input_dim=6, activation='relu')])
model = Sequential()
model.add(Merge([left, right], mode='concat'))
model.add(Dropout(0.5))
model.add(Dense(3, init='uniform', activation='softmax'))
"""


def test_models_in_front_of_a_merge_of_keras_1_are_its_inputs(tmp_path):
    (tmp_path / "pasted.py").write_text(TWO_MODELS)
    said = convoy("summary", tmp_path / "pasted.py").stdout
    count = (8 * 32 + 32) + (6 * 31 + 31) + (63 * 3 + 3)
    assert f"({count} trainable" in said, said
    assert "[N, 8]" in said and "[N, 6]" in said and "[N, 63]" in said, said


def test_a_lambda_over_a_variable_that_changes_behind_it_is_refused(tmp_path):
    text = ALL["bound_in_a_loop"][2].replace("lambda x, i=i: x[:, :, 2*i:2*i+2]", "lambda x: x[:, :, 2*i:2*i+2]")
    (tmp_path / "pasted.py").write_text(text)
    said = convoy("summary", tmp_path / "pasted.py", code=6).stderr
    assert "reads 'i', which was 0 when the layer was called and is 2 at the end" in said, said
