"""Attention layers of .keras files: every way to mask them, several axes, gates, heads that share keys, and their scores, as Keras
itself answers; ports to PyTorch, ONNX and TFLite are proved."""
import numpy as np
import pytest
from carrying import assert_close, convoy

STEPS, WIDTH = 7, 12


def models() -> dict:
    """name -> (model, shapes and kinds of its inputs)."""
    import keras
    from keras import layers

    def sequence(steps=STEPS, width=WIDTH):
        return keras.Input((steps, width))

    def pairs(dtype="bool"):
        return keras.Input((STEPS, STEPS), dtype=dtype)

    def heads(**more):
        return layers.MultiHeadAttention(3, 4, **more)

    def group(**more):
        return layers.GroupQueryAttention(5, 6, 3, **more)

    def of_itself(layer, x=None, **call):
        x = sequence() if x is None else x
        made = layer(x, x, **call)
        return keras.Model(x, list(made) if isinstance(made, tuple) else made)

    def of_words(layer, then=(), **call):
        ids = keras.Input((STEPS,), dtype="int32")
        y = layers.Embedding(9, WIDTH, mask_zero=True)(ids)
        y = layer(y, y, **call)
        for one in then:
            y = one(y)
        return keras.Model(ids, y)

    def across(layer, width=10, **call):
        x, y = sequence(), sequence(5, width)
        return keras.Model([x, y], layer(x, y, **call))

    def masked(layer, mask, **call):
        x = sequence()
        return keras.Model([x, mask], layer(x, x, attention_mask=mask, **call))

    x, y, z, image = sequence(), sequence(5, 10), sequence(5, 6), keras.Input((4, 5, WIDTH))
    return {
        "plain": of_itself(heads()),
        "free": of_itself(heads(), sequence(None)),
        "causal": of_itself(heads(value_dim=5, output_shape=9), use_causal_mask=True),
        "causal_free": of_itself(heads(), sequence(None), use_causal_mask=True),
        "window": of_itself(heads(sliding_window=2), use_causal_mask=True),
        "window_free": of_itself(heads(sliding_window=3), sequence(None)),
        "across": across(heads(use_bias=False)),
        "own_key": keras.Model([x, y, z], heads()(x, z, key=y)),
        "mask": masked(heads(), pairs()),
        "mask_causal": masked(heads(), pairs(), use_causal_mask=True),
        "mask_of_numbers": masked(heads(), pairs("float32")),
        "mask_with_dropout": masked(heads(dropout=0.2), pairs("float32")),
        "scores": of_itself(heads(), return_attention_scores=True),
        "all_axes": of_itself(heads(), image),
        "second_axis": of_itself(heads(attention_axes=(2,)), image),
        "two_axes_out": of_itself(heads(output_shape=(2, 5))),
        "gate": of_itself(heads(use_gate=True)),
        "words": of_words(heads()),
        "words_causal": of_words(heads(), [layers.GlobalAveragePooling1D()], use_causal_mask=True),
        "words_of_groups": of_words(group()),
        "groups": of_itself(group()),
        "groups_causal": of_itself(group(use_bias=False), sequence(None), use_causal_mask=True),
        "groups_across": across(group(), WIDTH),
        "groups_masked": masked(group(), pairs()),
        "groups_scores": of_itself(group(use_gate=True), return_attention_scores=True),
        "dot": keras.Model(x, layers.Attention(use_scale=True)([x, x])),
        "concat": keras.Model(x, layers.Attention(score_mode="concat")([x, x], use_causal_mask=True)),
        "additive": keras.Model(x, layers.AdditiveAttention()([x, x])),
    }


NAMES = ["plain", "free", "causal", "causal_free", "window", "window_free",
         "across", "own_key", "mask", "mask_causal", "mask_of_numbers",
         "mask_with_dropout", "scores", "all_axes", "second_axis", "two_axes_out", "gate", "words", "words_causal",
         "words_of_groups", "groups", "groups_causal", "groups_across", "groups_masked", "groups_scores", "dot", "concat",
         "additive"]  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return models()


def numbers(tensor, rng):
    shape = [2 if i == 0 else STEPS if n is None else n for i, n in enumerate(tensor.shape)]
    if tensor.dtype == "bool":
        return rng.random(shape) > 0.4  # a row of which nothing is seen among them is not likely, and as good as any
    if tensor.dtype == "int32":
        return rng.integers(0, 4, shape).astype(np.int32)
    of_pairs = shape[1:] == [STEPS, STEPS]
    return (rng.random(shape) > 0.4 if of_pairs else rng.standard_normal(shape)).astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_attention_of_a_file_answers_as_keras(name, made, tmp_path):
    rng = np.random.default_rng(NAMES.index(name))
    model = made[name]
    for weight in model.weights:
        weight.assign(rng.standard_normal(weight.shape) / 2)
    model.save(tmp_path / "m.keras")
    given = [numbers(x, rng) for x in model.inputs]
    want = model(given if len(given) > 1 else given[0])
    want = [np.asarray(y) for y in (want if isinstance(want, (list, tuple)) else [want])]
    words = []
    for x, value in zip(model.inputs, given, strict=True):
        layer = x._keras_history.operation.name
        np.save(tmp_path / f"{layer}.npy", value)
        words += ["--input", f"{layer}={tmp_path / layer}.npy" if len(given) > 1 else tmp_path / f"{layer}.npy"]
    convoy("run", tmp_path / "m.keras", *words, "-o", tmp_path / "y.npz")
    got = np.load(tmp_path / "y.npz")
    assert_close([got[k] for k in got.files], want, 2e-5, "run")
    for target, suffix in (("torch", "py"), ("onnx", "onnx"), ("tflite", "tflite")):
        convoy("port", tmp_path / "m.keras", "--to", target, "-o", tmp_path / f"p.{suffix}")  # with its proof
