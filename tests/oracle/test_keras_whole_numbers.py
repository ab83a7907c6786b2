"""Whole numbers and truths that come into Keras models: what layers and functions make of them, and in which type, against Keras
itself on TensorFlow; run natively and carried to ONNX, PyTorch and TFLite."""

import os

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from carrying import convoy, import_file, plain_session
from keras import layers as L
from keras import ops

SERIES, IMAGE, EVEN = (4, 6), (6, 7, 3), (6, 8, 3)
SMALL, BYTE = 5, 256  # below which the numbers lie
CASES = {}


def case(name, shape, build, *types, below=BYTE):
    for dtype in types:
        CASES[f"{name}_{dtype}"] = (shape, dtype, build, below)


# Resizing interpolates in float32, rounds and keeps the type.
# Lengths with weights that float32 holds, so that halves are halves in every framework.
for word in ("nearest", "bilinear", "bicubic"):
    case(f"up_{word}", IMAGE, lambda x, word=word: L.UpSampling2D(2, interpolation=word)(x), "uint8", "int32", "int16")
    case(f"resize_{word}", EVEN, lambda x, word=word: ops.image.resize(x, (12, 4), word), "uint8", "int32", "int8", "int64")
case("resize_taken", IMAGE, lambda x: ops.image.resize(x, (4, 9), "nearest"), "uint8", "int32", "int64")
case("resize_antialias", IMAGE, lambda x: ops.image.resize(x, (4, 5), "lanczos3", antialias=True), "uint8")
case("resize_first", (3, 6, 8), lambda x: ops.image.resize(x, (12, 4), data_format="channels_first"), "uint8")
case("resize_cropped", EVEN, lambda x: ops.image.resize(x, (3, 8), crop_to_aspect_ratio=True), "uint8")
case("free_up", (None, None, 3), lambda x: L.UpSampling2D(2)(x), "uint8")
case("up1d", (6, 3), lambda x: L.UpSampling1D(2)(x), "uint8", "int32", "bool")
case("up3d", (2, 3, 4, 2), lambda x: L.UpSampling3D(2)(x), "uint8", "int32")
case("grayscale", IMAGE, lambda x: ops.image.rgb_to_grayscale(x), "uint8", "int32")
case("grayscale_first", (3, 6, 7), lambda x: ops.image.rgb_to_grayscale(x, "channels_first"), "uint8")

# Norms compute in float32 and cut the fractions off.
case("layer_norm", SERIES, lambda x: L.LayerNormalization()(x), "int32", "int64", below=SMALL)
case("group_norm", SERIES, lambda x: L.GroupNormalization(2)(x), "int32", "int64", below=SMALL)
case("rms_norm", SERIES, lambda x: L.RMSNormalization()(x), "int32", "int64", below=SMALL)
case("rms_norm_function", SERIES, lambda x: ops.rms_normalization(x), "int32", below=SMALL)
case("layer_norm_function", SERIES, lambda x: ops.layer_normalization(x, epsilon=0.3), "int32", below=SMALL)
case("batch_norm", SERIES, lambda x: L.BatchNormalization()(x), "int32", below=SMALL)

# What multiplies by weights computes in float32.
case("dense", SERIES, lambda x: L.Dense(3)(x), "int32", "uint8", "int64", below=SMALL)
case("dense_relu", SERIES, lambda x: L.Dense(3, activation="relu")(x), "int32", below=SMALL)
case("time_distributed", SERIES, lambda x: L.TimeDistributed(L.Dense(2))(x), "int32", below=SMALL)
case("einsum_dense", SERIES, lambda x: L.EinsumDense("abc,cd->abd", (None, 3))(x), "int32", below=SMALL)
for layer in (L.LSTM, L.GRU, L.SimpleRNN):
    case(layer.__name__.lower(), SERIES, lambda x, layer=layer: layer(3)(x), "int32", "uint8", below=SMALL)
case("both_ways", SERIES, lambda x: L.Bidirectional(L.GRU(3))(x), "int32", below=SMALL)
case("leaky", SERIES, lambda x: L.LeakyReLU(0.3)(x - 2), "int32", below=SMALL)
case("relu2", SERIES, lambda x: L.ReLU(2)(x), "int32", "uint8", below=SMALL)
case("relu", SERIES, lambda x: L.ReLU()(x - 2), "int32", below=SMALL)
for word in ("tanh", "relu6", "leaky_relu"):
    case(word, SERIES, lambda x, word=word: L.Activation(word)(x), "int32", below=SMALL)

# What merges and moves keeps the type that Keras makes of it.
for layer in (L.Add, L.Subtract, L.Multiply, L.Average, L.Maximum, L.Minimum, L.Concatenate):
    case(layer.__name__.lower(), SERIES, lambda x, layer=layer: layer()([x, x]), "int32", "uint8", "int64", below=SMALL)
case("masking", SERIES, lambda x: L.Masking(2)(x), "int32", "uint8", "int64", below=SMALL)
case("max_pool", IMAGE, lambda x: L.MaxPooling2D(2)(x), "uint8", "int32")
case("global_average", IMAGE, lambda x: L.GlobalAveragePooling2D()(x), "uint8", "int32")
case("global_max", IMAGE, lambda x: L.GlobalMaxPooling2D()(x), "uint8")
case("pad", IMAGE, lambda x: L.ZeroPadding2D(1)(x), "uint8", "int32")
case("crop", IMAGE, lambda x: L.Cropping2D(1)(x), "uint8")
case("center_crop", IMAGE, lambda x: L.CenterCrop(4, 4)(x), "uint8")
case("rescaling", IMAGE, lambda x: L.Rescaling(1 / 255)(x), "uint8", "int32")
case("flatten", SERIES, lambda x: L.Flatten()(x), "uint8", "bool")
case("repeat", (4,), lambda x: L.RepeatVector(3)(x), "int32")
case("permute", SERIES, lambda x: L.Permute((2, 1))(x), "uint8")
for name in ("mean", "var", "std", "sum", "prod", "max", "min", "median", "cumsum", "argmax", "sort", "argsort"):
    case(name, SERIES, lambda x, name=name: getattr(ops, name)(x, axis=-1), "int32", "uint8", below=SMALL)
case("sort_bool", SERIES, lambda x: ops.sort(x, axis=-1), "bool")


for name in ("mean", "sum", "max", "var"):
    case(f"{name}_over_no_axis", SERIES, lambda x, name=name: getattr(ops, name)(x, axis=()), "int32", "float32", below=SMALL)
case("flatten_of_one_number", (4,), lambda x: L.Flatten()(x[:, 0]), "int32", "float32")


def drawn(shape, dtype, below):
    numbers = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else below, (2, *(size or 5 for size in shape)))
    return (numbers if dtype in ("bool", "float32") else np.clip(numbers, 0, np.iinfo(dtype).max)).astype(dtype)


def answered(port, x):
    if port.suffix == ".onnx":
        session = plain_session(port)
        return session.run(None, {session.get_inputs()[0].name: x})[0]
    if port.suffix == ".py":
        with torch.inference_mode():
            return import_file(port).load()(torch.from_numpy(x)).numpy()
    lite = tf.lite.Interpreter(str(port))
    taken = lite.get_input_details()[0]["index"]
    lite.resize_tensor_input(taken, x.shape)
    lite.allocate_tensors()
    lite.set_tensor(taken, x)
    lite.invoke()
    return lite.get_tensor(lite.get_output_details()[0]["index"])


@pytest.mark.parametrize("name", CASES)
def test_whole_numbers_are_what_keras_makes_of_them(name, tmp_path):
    shape, dtype, build, below = CASES[name]
    keras.utils.set_random_seed(3)
    given = keras.Input(shape, dtype=dtype)
    model = keras.Model(given, build(given))
    random = np.random.default_rng(4)
    model.set_weights([random.normal(size=w.shape) ** 2 if "variance" in v.path else random.normal(size=w.shape)
                       for v, w in zip(model.weights, model.get_weights())])
    x = drawn(shape, dtype, below)
    wanted = model.predict(x, verbose=0)

    def compare(got, where):
        assert got.dtype == wanted.dtype, where
        if got.dtype.kind == "f":
            assert np.abs(got - wanted).max() <= 2e-5 * max(1, np.abs(wanted).max()), where
        else:
            np.testing.assert_array_equal(got, wanted, where)

    file = tmp_path / "model.keras"
    model.save(file)
    np.save(tmp_path / "x.npy", x)
    convoy("run", file, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    compare(np.load(tmp_path / "y.npy"), "run")
    for target in ("onnx", "py", "tflite"):
        port = tmp_path / f"port.{target}"
        done = convoy("port", file, "-o", port, "--interface", "source", code=None)
        assert done.returncode in ((0, 6) if target == "tflite" else (0,)), done.stderr  # it has few kernels of whole numbers
        if done.returncode == 0:
            compare(answered(port, x), target)
