"""Keras's policies of 16 and 64 bits: what layers compute under them, against Keras itself on TensorFlow, and their ports."""

import importlib.util
import os

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
import torch
from carrying import convoy
from keras import layers

ULP = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-52}


def network(policy):
    """Layers whose sums TensorFlow keeps in float32, and norms, which it computes there."""
    draw = keras.initializers.RandomNormal(0, 0.5, seed=4)
    image = keras.Input((9, 12, 3), name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", bias_initializer=draw, dtype=policy)(image)
    x = layers.BatchNormalization(
        gamma_initializer=draw, beta_initializer=draw, moving_mean_initializer=draw, dtype=policy
    )(x)
    x = layers.ReLU(dtype=policy)(x)
    y = layers.Conv2D(8, 1, activation="relu", dtype=policy)(x)
    x = layers.Add(dtype=policy)([x, y])
    x = layers.MaxPooling2D(2, dtype=policy)(x)
    x = layers.LayerNormalization(gamma_initializer=draw, dtype=policy)(x)
    x = layers.GlobalAveragePooling2D(dtype=policy)(x)
    x = layers.Dense(6, activation="tanh", bias_initializer=draw, dtype=policy)(x)
    return keras.Model(image, layers.Dense(4, dtype="float32")(x))


def types(policy):
    return policy.removeprefix("mixed_")


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float64"])
def test_a_policy_is_followed_and_carried(policy, tmp_path):
    keras.utils.set_random_seed(5)
    net = network(policy)
    x = np.random.default_rng(6).standard_normal((2, 9, 12, 3)).astype("float32")
    wanted = np.asarray(net(x))
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    room = 4 * max(ULP[types(policy)], 2.0**-23) * np.abs(wanted).max()

    def near(got):
        assert np.abs(np.asarray(got) - wanted).max() <= room

    def run(file):
        convoy("run", file, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "--force")
        return np.load(tmp_path / "y.npy")

    near(run(tmp_path / "net.keras"))
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.py")
    spec = importlib.util.spec_from_file_location("port", tmp_path / "port.py")
    port = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(port)
    with torch.no_grad():
        near(port.load()(torch.from_numpy(x).permute(0, 3, 1, 2)))
    opset = ["--opset", 22] if types(policy) == "bfloat16" else []
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.onnx", "--interface", "source", *opset)
    near(run(tmp_path / "port.onnx"))
    if types(policy) == "float16":
        session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
        near(session.run(None, {session.get_inputs()[0].name: x})[0])
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.keras")
    again = keras.models.load_model(tmp_path / "port.keras")
    near(again(x))
    assert types(policy) in {layer.compute_dtype for layer in again.layers}
    refused = convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.tflite", code=6).stderr
    assert f"{types(policy)} has no form in TFLite" in refused and "; --float32 carries the model in float32" in refused
    said = convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.tflite", "--float32").stdout
    assert f"{types(policy)} becomes float32" in said


@pytest.mark.parametrize("width", [24, 1500])
def test_dense_layers_of_int8_are_followed(width, tmp_path):
    """Sums of 1500 products of whole numbers may leave what float32 holds exactly."""
    keras.utils.set_random_seed(7)
    net = keras.Sequential(
        [keras.Input((width,)), layers.Dense(16, activation="relu"), layers.Dense(5, use_bias=False, activation="tanh")]
    )
    net.quantize("int8")
    x = np.random.default_rng(8).standard_normal((3, width)).astype("float32")
    x[2] = 0
    wanted = np.asarray(net(x))
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "net.keras", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert np.abs(np.load(tmp_path / "y.npy") - wanted).max() <= 2.0**-22
    for suffix in ("onnx", "keras", "py", "tflite"):
        convoy("port", tmp_path / "net.keras", "-o", tmp_path / f"port.{suffix}")
    assert np.abs(answer_of_lite(tmp_path / "port.tflite", x) - wanted).max() <= 2.0**-21
    session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
    (answer,) = session.run(None, {session.get_inputs()[0].name: x})
    assert np.abs(answer - wanted).max() <= 2.0**-21
    assert np.abs(np.asarray(keras.models.load_model(tmp_path / "port.keras")(x)) - wanted).max() <= 2.0**-21


# One letter summed and several, the summed one in the middle, axes of the kernel between the input's, and nothing summed at all.
EQUATIONS = {
    "abc,cde->abde": ((4, 5), (None, 2, 3), "de"),
    "abcd,cde->abe": ((4, 3, 5), (None, 6), None),
    "abc,bd->adc": ((4, 5), (3, 5), "d"),
    "abc,cd->adb": ((4, 5), (3, 4), "db"),
    "abcd,cdef->aefb": ((4, 3, 5), (2, 6, 4), "ef"),
    "abc,dc->abd": ((2, 1500), (2, 3), "d"),
    "abc,c->abc": ((4, 5), (4, 5), None),
}


def answer_of_lite(path, x):
    lite = tf.lite.Interpreter(str(path)).get_signature_runner()
    (name,) = lite.get_input_details()
    (answer,) = lite(**{name: x}).values()
    return answer


@pytest.mark.parametrize("equation", EQUATIONS)
def test_products_of_int8_by_an_equation_are_followed(equation, tmp_path):
    """The input is scaled along the axes that are summed, wherever they lie; the scale stands beside the output's axes."""
    shape, output, bias = EQUATIONS[equation]
    keras.utils.set_random_seed(7)
    x = keras.Input(shape)
    net = keras.Model(x, layers.EinsumDense(equation, output_shape=output, bias_axes=bias, activation="tanh")(x))
    for weight in net.weights:
        if weight.name == "bias":
            weight.assign(np.random.default_rng(1).standard_normal(weight.shape))
    net.quantize("int8")
    x = np.random.default_rng(8).standard_normal((3, *shape)).astype("float32")
    x[2, 1] = 0
    wanted = np.asarray(net(x))
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "net.keras", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert np.abs(np.load(tmp_path / "y.npy") - wanted).max() <= 2.0**-22
    for suffix in ("onnx", "keras", "py", "tflite"):
        convoy("port", tmp_path / "net.keras", "-o", tmp_path / f"port.{suffix}")
    session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
    (answer,) = session.run(None, {session.get_inputs()[0].name: x})
    assert np.abs(answer - wanted).max() <= 2.0**-21
    assert np.abs(np.asarray(keras.models.load_model(tmp_path / "port.keras")(x)) - wanted).max() <= 2.0**-21
    assert np.abs(answer_of_lite(tmp_path / "port.tflite", x) - wanted).max() <= 2.0**-21


@pytest.mark.parametrize("kernel", ["small", "large"])
def test_long_sums_of_int8_stay_exact_in_parts_of_float32(kernel, tmp_path):
    """1500 products of up to 127 * 127 each, which float32 holds no sum of in one order of addition or another."""
    net = keras.Sequential([keras.Input((2, 1500)), layers.Dense(7, use_bias=False)])
    net.quantize("int8")
    draw = np.random.default_rng(2)
    net.layers[0]._kernel.assign(draw.choice([127, 126, 125] if kernel == "large" else [1, 0, -1], (1500, 7)).astype("int8"))
    net.save(tmp_path / "net.keras")
    x = draw.choice(np.float32([0.0, 1.0, 0.9921, 0.9842]), (3, 2, 1500))
    wanted = np.asarray(net(x))
    said = convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.tflite").stdout
    assert ("in 2 parts" in said) == (kernel == "large")
    np.testing.assert_array_equal(answer_of_lite(tmp_path / "port.tflite", x), wanted)


def test_embeddings_of_int8_are_followed(tmp_path):
    """Each row has a scale of its own, and the mask is that of the numbers that come in."""
    keras.utils.set_random_seed(7)
    x = keras.Input((9,), dtype="int32")
    rows = layers.Embedding(30, 7, mask_zero=True)(x)
    net = keras.Model(x, [rows, layers.Dense(5)(layers.GlobalAveragePooling1D()(rows))])
    net.quantize("int8")
    x = np.random.default_rng(8).integers(0, 30, (3, 9)).astype("int32")
    wanted = [np.asarray(y) for y in net(x)]
    net.save(tmp_path / "net.keras")
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
    answers = session.run(None, {session.get_inputs()[0].name: x})
    assert np.array_equal(answers[0], wanted[0])
    assert np.abs(answers[1] - wanted[1]).max() <= 2.0**-21
    for suffix in ("keras", "py", "tflite"):
        convoy("port", tmp_path / "net.keras", "-o", tmp_path / f"port.{suffix}")
    assert np.array_equal(np.asarray(keras.models.load_model(tmp_path / "port.keras")(x)[0]), wanted[0])


WIDE = {
    "LayerNormalization": lambda x: layers.LayerNormalization()(x),
    "GroupNormalization": lambda x: layers.GroupNormalization(2)(x),
    "behind a norm": lambda x: layers.Dense(3)(layers.LayerNormalization(axis=[1, 2])(x)),
    "Resizing": lambda x: layers.Resizing(5, 7)(x),
    "UpSampling2D": lambda x: layers.UpSampling2D(2, interpolation="bicubic")(x),
    "GRU": lambda x: layers.GRU(3)(layers.Reshape((30, 4))(x)),
    "remainder": lambda x: keras.ops.mod(x, 0.3),
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("handed", ["float32", "float64"])
def test_layers_give_float64_whatever_they_are_handed(name, handed, tmp_path):
    """Norms compute in the type that comes in, resizes in float32; both give what the policy says."""
    keras.utils.set_random_seed(9)
    keras.config.set_dtype_policy("float64")
    try:
        image = keras.Input((6, 5, 4), dtype=handed)
        net = keras.Model(image, WIDE[name](image))
    finally:
        keras.config.set_dtype_policy("float32")
    x = np.random.default_rng(10).standard_normal((2, 6, 5, 4)).astype(handed)
    wanted = np.asarray(net(x))
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "net.keras", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.keras")
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.onnx", "--interface", "source")
    for got in (np.load(tmp_path / "y.npy"), np.asarray(keras.models.load_model(tmp_path / "port.keras")(x))):
        assert got.dtype == wanted.dtype
        assert np.abs(got - wanted).max() <= 2.0**-19
    if name != "GRU":  # ONNX Runtime has none of float64
        session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
        (got,) = session.run(None, {session.get_inputs()[0].name: x})
        assert got.dtype == wanted.dtype and np.abs(got - wanted).max() <= 2.0**-19


def sequence(body):
    x = keras.Input((9, 6))
    return keras.Model(x, body(x))


def image_of(body):
    x = keras.Input((9, 7, 3))
    return keras.Model(x, body(x))


def volume(body):
    x = keras.Input((6, 7, 5, 2))
    return keras.Model(x, body(x))


def words(body):
    x = keras.Input((9,), dtype="int32")
    return keras.Model(x, body(x))


def attends_to_itself(**settings):
    return lambda x: layers.MultiHeadAttention(2, 4, **settings)(x, x)


HALVES = {
    "EinsumDense": lambda: sequence(layers.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d")),
    "attention": lambda: sequence(attends_to_itself()),
    "attention of two widths": lambda: sequence(attends_to_itself(value_dim=5, output_shape=7)),
    "causal attention": lambda: sequence(lambda x: layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)),
    "attention that drops": lambda: sequence(attends_to_itself(dropout=0.1)),
    "masked attention": lambda: words(lambda i: attends_to_itself()(layers.Embedding(20, 6, mask_zero=True)(i))),
    "masked attention that drops": lambda: words(lambda i: attends_to_itself(dropout=0.1)(layers.Embedding(20, 6, mask_zero=True)(i))),
    "GroupQueryAttention": lambda: sequence(lambda x: layers.GroupQueryAttention(5, 4, 2)(x, x)),
    "Attention": lambda: sequence(lambda x: layers.Attention(use_scale=True)([x, x], use_causal_mask=True)),
    "Attention by sums": lambda: sequence(lambda x: layers.Attention(score_mode="concat")([x, x])),
    "AdditiveAttention": lambda: sequence(lambda x: layers.AdditiveAttention()([x, x])),
    "Softmax with a mask": lambda: sequence(lambda x: layers.Softmax()(x, mask=layers.ReLU()(x))),
    "masked mean": lambda: words(lambda i: layers.GlobalAveragePooling1D()(layers.Embedding(20, 6, mask_zero=True)(i))),
    "PReLU": lambda: image_of(layers.PReLU(shared_axes=[1, 2])),
    "ELU": lambda: image_of(layers.ELU(0.3)),
    "RMSNormalization": lambda: image_of(layers.RMSNormalization()),
    "UnitNormalization": lambda: image_of(layers.UnitNormalization()),
    "Normalization": lambda: image_of(layers.Normalization(mean=[1, 2, 3], variance=[4, 5, 3000])),
    "Normalization back": lambda: image_of(layers.Normalization(mean=[1, 2, 3], variance=[4, 5, 6], invert=True)),
    "Resizing": lambda: image_of(layers.Resizing(5, 11)),
    "TimeDistributed": lambda: sequence(layers.TimeDistributed(layers.Dense(4, activation="relu"))),
    "Dot": lambda: sequence(lambda x: layers.Dot(2)([x, x])),
    "Average": lambda: sequence(lambda x: layers.Average()([x, layers.Dense(6)(x)])),
    "Conv3DTranspose": lambda: volume(layers.Conv3DTranspose(3, 3, strides=2, padding="same")),
    "three axes": lambda: volume(lambda x: layers.UpSampling3D((2, 1, 3))(layers.ZeroPadding3D(1)(layers.Cropping3D((1, 2, 1))(x)))),
    "means of three axes": lambda: volume(layers.GlobalAveragePooling3D()),
}


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_layer_without_states_is_followed_in_halves(name, policy, tmp_path):
    """As far as the halves of one order of sums are from those of another."""
    keras.utils.set_random_seed(11)
    keras.config.set_dtype_policy(policy)
    try:
        net = HALVES[name]()
    finally:
        keras.config.set_dtype_policy("float32")
    random = np.random.default_rng(12)
    for weight in net.weights:
        weight.assign(random.standard_normal(weight.shape) * 0.4)
    shape = [2, *net.inputs[0].shape[1:]]
    x = random.integers(0, 5, shape).astype("int32") if name.startswith("masked") else random.standard_normal(shape).astype("float32")
    wanted = np.asarray(keras.ops.cast(net(x), "float32"))
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    room = 6 * ULP[types(policy)] * np.abs(wanted).max()

    def run(file):
        convoy("run", file, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "--force")
        return np.load(tmp_path / "y.npy").astype("float32")

    assert np.abs(run(tmp_path / "net.keras") - wanted).max() <= room
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.py", "--interface", "source")
    spec = importlib.util.spec_from_file_location("port", tmp_path / "port.py")
    port = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(port)
    with torch.no_grad():
        assert np.abs(port.load()(torch.from_numpy(x)).float().numpy() - wanted).max() <= room
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.keras")
    again = np.asarray(keras.ops.cast(keras.models.load_model(tmp_path / "port.keras")(x), "float32"))
    assert np.abs(again - wanted).max() <= room
    if policy == "mixed_float16":
        convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.onnx", "--interface", "source")
        session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
        answer = session.run(None, {session.get_inputs()[0].name: x})[0].astype("float32")
        assert np.abs(answer - wanted).max() <= room


MASKED = {  # what reads steps that do not count, in another type than they come in
    "mean": lambda x, to: layers.GlobalAveragePooling1D(dtype=to)(x),
    "attention": lambda x, to: layers.MultiHeadAttention(2, 3, dtype=to)(x, x),
    "Attention": lambda x, to: layers.GlobalAveragePooling1D()(layers.Attention(dtype=to)([x, x])),
    "Add": lambda x, to: layers.GlobalAveragePooling1D()(layers.Add(dtype=to)([x, layers.Dense(6)(x)])),
    "Concatenate": lambda x, to: layers.GlobalAveragePooling1D()(layers.Concatenate(dtype=to)([x, layers.Dense(6)(x)])),
    "LayerNormalization": lambda x, to: layers.GlobalAveragePooling1D()(layers.LayerNormalization(dtype=to)(x)),
    "TimeDistributed": lambda x, to: layers.GlobalAveragePooling1D()(layers.TimeDistributed(layers.Dense(3, dtype=to), dtype=to)(x)),
    "LSTM": lambda x, to: layers.LSTM(4, dtype="float64" if to == "mixed_float16" else to)(x),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("first, then", [("float32", "mixed_float16"), ("mixed_float16", "float32"), ("float32", "float64")])
def test_a_mask_stays_where_a_layer_turns_its_input_into_its_own_type(name, first, then, tmp_path):
    keras.utils.set_random_seed(13)
    ids = keras.Input((9,), dtype="int32")
    net = keras.Model(ids, MASKED[name](layers.Embedding(20, 6, mask_zero=True, dtype=first)(ids), then))
    x = np.random.default_rng(14).integers(0, 4, (3, 9)).astype("int32")
    x[:, 2] = 5  # a step that counts in each
    wanted = np.asarray(keras.ops.cast(net(x), "float32"))
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "net.keras", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert np.abs(np.load(tmp_path / "y.npy") - wanted).max() <= 4 * ULP["float16"] * np.abs(wanted).max()


def model_of(dtype, shape, body):
    x = keras.Input(shape, dtype=dtype)
    return keras.Model(x, body(x))


INSIDE = {  # what a model inside the model makes of what it is called with
    "halves": lambda: model_of("float16", (9, 6), layers.Dense(4, dtype="float32")),
    "halves in a row": lambda: keras.Sequential([keras.Input((9, 6), dtype="float16"), layers.Dense(4)]),
    "indices": lambda: model_of("int32", (9, 6), layers.Embedding(12, 3)),
    "truths": lambda: model_of("bool", (9, 6), lambda x: layers.Rescaling(2.0)(keras.ops.cast(x, "float32"))),
    "every step": lambda: layers.TimeDistributed(model_of("float16", (6,), layers.Dense(4, dtype="float32"))),
}


@pytest.mark.parametrize("name", INSIDE)
def test_a_model_inside_turns_its_inputs_into_the_types_that_they_declare(name, tmp_path):
    keras.utils.set_random_seed(15)
    x = keras.Input((9, 6))
    inside = INSIDE[name]()
    net = keras.Model(x, [inside(x), inside(layers.ReLU()(x))])
    given = np.abs(np.random.default_rng(16).standard_normal((2, 9, 6)) * 3).astype("float32")
    given[:, 2] = 0
    wanted = [np.asarray(one) for one in net(given)]
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", given)
    for file in ("net.keras", "port.onnx"):
        if file == "port.onnx":
            convoy("port", tmp_path / "net.keras", "-o", tmp_path / file, "--interface", "source")
        convoy("run", tmp_path / file, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npz", "--force")
        with np.load(tmp_path / "y.npz") as answers:
            for got, want in zip((answers[key] for key in answers.files), wanted):
                assert np.abs(got - want).max() <= 2.0**-19 * np.abs(want).max()
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.keras")
    for got, want in zip(keras.models.load_model(tmp_path / "port.keras")(given), wanted):
        assert np.abs(np.asarray(got) - want).max() <= 2.0**-19 * np.abs(want).max()
