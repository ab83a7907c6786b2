"""Recurrent layers of cells (RNN, StackedRNNCells), both ways with their states, and masks that a layer or a call gives: files as
Keras computes them."""
import itertools

import numpy as np
import pytest
from carrying import assert_close, convoy

STEPS, CELLS = 7, 3


def models(keras) -> dict:
    """name -> a model of sequences [STEPS, CELLS], and of other inputs behind them."""
    L, counts = keras.layers, itertools.count()
    made = {}

    def I(shape, dtype="float32"):
        return keras.Input(shape, dtype=dtype, name=f"in_{next(counts)}")

    def chain(name, *layers):
        x = I((STEPS, CELLS))
        y = x
        for layer in layers:
            y = layer(y)
        made[name] = keras.Model(x, y)

    both = dict(return_sequences=True, return_state=True)
    chain("cell", L.RNN(L.LSTMCell(5)))
    chain("cell_all", L.RNN(L.GRUCell(5), return_sequences=True))
    chain("cell_back", L.RNN(L.SimpleRNNCell(5, activation="relu"), go_backwards=True, **both))
    chain("stack", L.RNN([L.LSTMCell(5), L.LSTMCell(4)]))
    chain("stack_of_kinds", L.RNN(L.StackedRNNCells([L.GRUCell(5), L.LSTMCell(4), L.SimpleRNNCell(6)]), return_sequences=True))
    chain("stack_back", L.RNN([L.GRUCell(5), L.GRUCell(4)], go_backwards=True, return_sequences=True))
    chain("two_ways", L.Bidirectional(L.RNN(L.LSTMCell(5), return_sequences=True)))
    chain("two_ways_states", L.Bidirectional(L.LSTM(5, return_state=True)))
    chain("two_ways_all", L.Bidirectional(L.GRU(5, **both), merge_mode="sum"))
    chain("two_ways_apart", L.Bidirectional(L.LSTM(4, **both), merge_mode=None))
    chain("masking", L.Masking(), L.LSTM(5))
    chain("masking_twice", L.Masking(-1.0), L.GRU(4, return_sequences=True), L.TimeDistributed(L.Dense(2)), L.SimpleRNN(3))
    each = keras.Sequential([keras.Input((CELLS, 1)), L.Conv1D(4, 2), L.BatchNormalization(), L.GlobalMaxPooling1D()])
    chain("model_each_step", L.Reshape((STEPS, CELLS, 1)), L.TimeDistributed(each), L.LSTM(5))
    chain("masking_mean", L.Masking(), L.GlobalAveragePooling1D())
    chain("masking_ways", L.Masking(), L.Bidirectional(L.LSTM(4, return_sequences=True)), L.Bidirectional(L.GRU(3)))
    chain("masking_ended", L.Masking(), L.Conv1D(4, 3), L.Flatten())
    chain("masking_stack", L.Masking(), L.RNN([L.LSTMCell(5), L.LSTMCell(4)]))
    x = I((STEPS, CELLS))
    y, a, b, c, d = L.Bidirectional(L.LSTM(5, **both))(x)
    made["two_ways_on"] = keras.Model(x, L.LSTM(10)(y, initial_state=[L.Concatenate()([a, c]), L.Concatenate()([b, d])]))
    x, a, b = I((STEPS, CELLS)), I((5,)), I((5,))
    made["two_ways_from"] = keras.Model([x, a, b], L.Bidirectional(L.GRU(5))(x, initial_state=[a, b]))
    for name, layer in [("attention", L.Attention(use_scale=True)), ("additive", L.AdditiveAttention())]:
        q, v = I((5, CELLS)), I((STEPS, CELLS))
        mq, mv = I((5,), dtype="bool"), I((STEPS,), dtype="bool")
        made[name] = keras.Model([q, v, mq, mv], layer([q, v], mask=[mq, mv]))
        made[name + "_values"] = keras.Model([q, v, mv], type(layer)()([q, v], mask=[None, mv]))
        x = I((STEPS, CELLS))
        y = L.Masking()(x)
        made[name + "_of_masked"] = keras.Model(x, L.GlobalAveragePooling1D()(type(layer)()([y, y])))
    q, v, mq, mv = I((5, CELLS)), I((STEPS, CELLS)), I((5,), dtype="bool"), I((STEPS,), dtype="bool")
    made["heads"] = keras.Model([q, v, mq, mv], L.MultiHeadAttention(2, 3)(q, v, query_mask=mq, value_mask=mv))
    x, m = I((STEPS, CELLS)), I((STEPS, CELLS), dtype="bool")
    made["softmax"] = keras.Model([x, m], L.Softmax()(x, mask=m))
    return made


NAMES = [
    "cell", "cell_all", "cell_back", "stack", "stack_of_kinds", "stack_back", "two_ways", "two_ways_states", "two_ways_all",
    "two_ways_apart", "two_ways_on", "two_ways_from", "model_each_step", "masking", "masking_twice", "masking_mean", "masking_ways", "masking_ended",
    "masking_stack", "attention", "attention_values", "attention_of_masked", "additive", "additive_values", "additive_of_masked",
    "heads", "softmax"]  # fmt: skip


@pytest.fixture(scope="module")
def known():
    import keras

    return models(keras)


def test_every_case_is_asked(known):
    assert sorted(NAMES) == sorted(known)


@pytest.mark.parametrize("name", NAMES)
def test_files_compute_as_keras_does(name, known, tmp_path):
    import keras

    model = known[name]
    random = np.random.default_rng(len(name))
    for weight in model.weights:
        weight.assign(random.uniform(-1, 1, weight.shape))
    given = []
    for one in model.inputs:
        shape = (3, *one.shape[1:])
        x = random.integers(0, 2, shape).astype(bool) if one.dtype == "bool" else random.normal(size=shape).astype("float32")
        if one.dtype == "bool":
            x[..., 0] = True
        else:
            x[1, -2:], x[2, 1], x[2, 0] = 0, -1, 0
        given.append(x)
    want = [np.asarray(y) for y in keras.tree.flatten(model(given if len(given) > 1 else given[0]))]
    model.save(tmp_path / "m.keras")
    model.save(tmp_path / "m.h5")
    arguments = []
    for one, x in zip(model.inputs, given):
        np.save(tmp_path / f"{one.name}.npy", x)
        arguments += ["--input", f"{one.name}={tmp_path / one.name}.npy" if len(given) > 1 else tmp_path / f"{one.name}.npy"]
    for file in ("m.keras", "m.h5"):
        convoy("run", tmp_path / file, *arguments, "-f", "-o", tmp_path / "y.npz")
        got = np.load(tmp_path / "y.npz")
        assert_close([got[k] for k in got.files], want, 2e-5, file)
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.py")  # with its proof
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.tflite")
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "again.keras")
    again = keras.saving.load_model(tmp_path / "again.keras")
    again = keras.tree.flatten(again(given if len(given) > 1 else given[0]))
    assert_close([np.asarray(y) for y in again], want, 2e-5, "keras")


@pytest.mark.parametrize("package", ["tf_keras", "keras"])
def test_a_model_on_each_step_of_an_h5_file_keeps_its_arrays(package, tmp_path):
    kept = pytest.importorskip(package)
    L = kept.layers
    inner = kept.Sequential(
        [kept.Input((6, 5, 3)), L.Conv2D(4, 3), L.BatchNormalization(), L.GlobalMaxPooling2D(), L.Dense(2)])  # fmt: skip
    x = kept.Input((4, 6, 5, 3))
    model = kept.Model(x, L.Dense(3)(L.LSTM(5)(L.TimeDistributed(inner)(x))))
    random = np.random.default_rng(6)
    for weight in model.weights:
        weight.assign(random.uniform(0.1, 1, weight.shape))
    given = random.normal(size=(2, 4, 6, 5, 3)).astype("float32")
    model.save(tmp_path / "m.h5")
    np.save(tmp_path / "x.npy", given)
    convoy("run", tmp_path / "m.h5", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert_close([np.load(tmp_path / "y.npy")], [np.asarray(model(given))], 2e-5, package)


def test_a_cell_of_another_class_is_refused_by_name(tmp_path):
    import keras

    class Own(keras.layers.Layer):
        state_size = 3

        def call(self, x, states):
            return x + states[0], [x + states[0]]

    x = keras.Input((STEPS, CELLS))
    keras.Model(x, keras.layers.RNN(Own())(x)).save(tmp_path / "m.keras")
    assert "Own" in convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.py", code=6).stderr
