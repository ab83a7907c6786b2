"""Discretization, CategoryEncoding and IntegerLookup: run and carried as Keras computes them, from files and from programs."""
import numpy as np
import pytest
from carrying import assert_close, convoy, plain_session, port, run_natively

BINS = [-1.5, 0.1, 0.7, 2.0]
WORDS = [12, 7, -3, 40, 1 << 40]
REALS = np.array([[-2, -1.5, 0.1], [np.float32(0.1), 0.69999999, 0.7], [2, np.nan, np.inf], [-np.inf, 0, 1.99]], np.float32)
WHOLE = np.array([[12, 7, 7], [0, -3, 5], [40, 6, 1 << 40], [-1, -2, 11]], np.int64)
SMALL = np.array([[0, 4, 4], [2, 2, 2], [1, 0, 3], [3, 7, 1]], np.int32)
MODES = ("one_hot", "multi_hot", "count")


def adapted(layer, numbers):
    layer.adapt(numbers)
    return layer


def models(L) -> dict:
    """name -> numbers, and the layer on them."""
    rare = np.array([[5, 5, -9], [12, 5, 12]])
    all_of_them = {
        "bins": (REALS, lambda: L.Discretization(BINS)),
        "bins_of_whole": (SMALL, lambda: L.Discretization(BINS)),
        "adapted_bins": (REALS, lambda: adapted(L.Discretization(num_bins=4), np.linspace(-3, 3, 50).reshape(10, 5))),
        "words": (WHOLE, lambda: L.IntegerLookup(vocabulary=WORDS)),
        "masked_words": (WHOLE, lambda: L.IntegerLookup(vocabulary=WORDS, mask_token=0, num_oov_indices=3)),
        "special_words_first": (WHOLE, lambda: L.IntegerLookup(vocabulary=[0, -1, *WORDS], mask_token=0)),
        "adapted_words": (WHOLE, lambda: adapted(L.IntegerLookup(mask_token=0), rare)),
        "words_of": (SMALL.astype(np.int64), lambda: L.IntegerLookup(vocabulary=WORDS, invert=True, mask_token=0, oov_token=-7)),
        "counted_as_whole": (SMALL, lambda: L.CategoryEncoding(5, output_mode="count", dtype="int32")),
        "one_column_of_bins": (REALS[:, :1], lambda: L.Discretization(BINS, output_mode="one_hot")),
        "deeper": (np.stack([SMALL, SMALL[:, ::-1]], 1), lambda: L.CategoryEncoding(5, output_mode="one_hot")),
        "deeper_counted": (np.stack([SMALL, SMALL[:, ::-1]], 1), lambda: L.CategoryEncoding(5, output_mode="count")),
    }
    for mode in MODES:
        all_of_them[f"bins_{mode}"] = (REALS, lambda mode=mode: L.Discretization(BINS, output_mode=mode))
        all_of_them[f"categories_{mode}"] = (SMALL, lambda mode=mode: L.CategoryEncoding(6, output_mode=mode))
        all_of_them[f"column_{mode}"] = (SMALL[:, :1], lambda mode=mode: L.CategoryEncoding(6, output_mode=mode))
        all_of_them[f"masked_words_{mode}"] = (WHOLE, lambda mode=mode: L.IntegerLookup(
            vocabulary=WORDS, output_mode=mode, mask_token=6, num_oov_indices=2))
        all_of_them[f"adapted_words_{mode}"] = (WHOLE, lambda mode=mode: adapted(L.IntegerLookup(
            output_mode=mode, mask_token=12, max_tokens=3), rare))
        all_of_them[f"words_{mode}"] = (WHOLE, lambda mode=mode: L.IntegerLookup(vocabulary=WORDS, output_mode=mode))
    return all_of_them


def made(keras, name):
    x, layer = models(keras.layers)[name]
    enters = keras.Input(x.shape[1:], dtype=x.dtype.name, name="x")
    return keras.Model(enters, layer()(enters)), x


@pytest.mark.parametrize("name", list(models(__import__("keras").layers)))
def test_categories_as_keras_finds_them(name, tmp_path):
    import keras

    model, x = made(keras, name)
    want = [np.asarray(model(x))]
    for file in ("net.keras", "net.h5")[: 1 if name.startswith("adapted_words") else 2]:
        model.save(tmp_path / file)
        got = run_natively([tmp_path / file], {"x": x}, tmp_path)
        assert got[0].dtype == want[0].dtype
        assert_close(got, want, what=f"{name}, {file}")
    assert_close(port([tmp_path / "net.keras"], tmp_path / "port.py")([x]), want, what=f"{name} in PyTorch")
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.onnx")
    runtime = plain_session(tmp_path / "port.onnx")
    assert_close(runtime.run(None, {runtime.get_inputs()[0].name: x}), want, what=f"{name} in ONNX Runtime")
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.keras")
    again = keras.saving.load_model(tmp_path / "port.keras")
    assert_close([np.asarray(again(x))], want, what=f"{name} written for Keras")


PROGRAM = """
import keras
from keras import layers

def build():
    age = keras.Input((1,), name="age")
    town = keras.Input((2,), dtype="int64", name="town")
    parts = [layers.Discretization([18.0, 30.5, 65.0], output_mode="one_hot")(age),
             layers.Flatten()(layers.Embedding(6, 3)(layers.IntegerLookup(vocabulary=[12, 7, -3, 40, 8])(town))),
             layers.CategoryEncoding(num_tokens=50, output_mode="count")(town)]
    return keras.Model([age, town], layers.Dense(2)(layers.Concatenate()(parts)))
"""


def test_columns_of_a_table_in_a_program(tmp_path):
    import keras

    (tmp_path / "net.py").write_text(PROGRAM)
    space = {}
    exec(PROGRAM, space)
    keras.utils.set_random_seed(5)
    model = space["build"]()
    model.save_weights(tmp_path / "net.weights.h5")
    age = np.array([[17.5], [18], [65], [80]], np.float32)
    town = np.array([[12, 3], [7, 7], [40, 8], [0, 49]], np.int64)
    want = [np.asarray(model([age, town]))]
    source = [f"{tmp_path / 'net.py'}:build()", "--weights", tmp_path / "net.weights.h5"]
    assert_close(run_natively(source, {"age": age, "town": town}, tmp_path), want)


def test_what_is_not_carried_is_named(tmp_path):
    import keras

    x = keras.Input((2,), dtype="int64", name="x")

    def refusal(layer, file="net.keras"):
        keras.Model(x, layer(x)).save(tmp_path / file)
        return convoy("port", tmp_path / file, "--to", "torch", "-o", tmp_path / "port.py", code=None)

    hashed = refusal(keras.layers.IntegerLookup(vocabulary=WORDS, num_oov_indices=2, oov_method="farmhash"))
    assert hashed.returncode == 6 and "hashes what it does not know" in hashed.stderr
    lost = refusal(adapted(keras.layers.IntegerLookup(), np.array([[5, 5, -9]])), "net.h5")
    assert lost.returncode != 0 and "save the model as .keras" in lost.stderr
