"""Keras's policies of 16 and 64 bits: what layers compute under them, against Keras itself on TensorFlow, and their ports."""

import importlib.util
import os

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import keras
import numpy as np
import onnxruntime
import pytest
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
    assert f"{types(policy)} has no form in TFLite" in refused
    said = convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.tflite", "--float32").stdout
    assert f"{types(policy)} becomes float32" in said


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "SimpleRNN"])
def test_what_rounds_step_by_step_is_refused(layer, tmp_path):
    net = keras.Sequential([keras.Input((5, 3)), getattr(layers, layer)(4, dtype="mixed_float16")])
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", np.zeros((2, 5, 3), "float32"))
    words = ["run", tmp_path / "net.keras", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy"]
    assert "computes in float16" in convoy(*words, code=6).stderr


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
    for suffix in ("onnx", "keras", "py", *(["tflite"] if width < 1040 else [])):
        convoy("port", tmp_path / "net.keras", "-o", tmp_path / f"port.{suffix}")
    session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
    (answer,) = session.run(None, {session.get_inputs()[0].name: x})
    assert np.abs(answer - wanted).max() <= 2.0**-21
    assert np.abs(np.asarray(keras.models.load_model(tmp_path / "port.keras")(x)) - wanted).max() <= 2.0**-21


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
