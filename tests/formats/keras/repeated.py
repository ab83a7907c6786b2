"""repeated, ported by convoy 0.1.0 from repeated.keras.

Weights: repeated.weights.h5. Check: python repeated.py
"""

import hashlib
import sys
from pathlib import Path

import keras
import numpy as np
from keras import layers

HERE = Path(__file__).resolve()
WEIGHTS_SHA256 = "0123"


def residual_block(x, filters, strides, filters_2, name):
    x = layers.Conv2D(
        filters, (3, 5), strides=strides, padding="same", use_bias=False, name=f"{name}_conv"
    )(x)
    x = layers.BatchNormalization(name=f"{name}_bn")(x)
    relu = layers.ReLU(name=f"{name}_relu")(x)
    x = layers.Conv2D(filters_2, 1, padding="same", use_bias=False, name=f"{name}_conv_2")(relu)
    x = layers.BatchNormalization(name=f"{name}_bn_2")(x)
    x = layers.ReLU(name=f"{name}_relu_2")(x)
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"{name}_conv_3")(x)
    x = layers.BatchNormalization(name=f"{name}_bn_3")(x)
    x = layers.ReLU(name=f"{name}_relu_3")(x)
    return layers.Add(name=f"{name}_add")([relu, x])


def build() -> keras.Model:
    """float32 [N, 12, 15, 2] -> float32 [N, 6, 8, 10]."""

    inputs = keras.Input((12, 15, 2), name="image")
    x = residual_block(inputs, 6, 1, 7, name="residual_block_1")
    x = residual_block(x, 8, 2, 9, name="residual_block_2")
    x = residual_block(x, 10, 1, 11, name="residual_block_3")
    return keras.Model(inputs, x, name="repeated")


def load(weights: str | Path = HERE.with_suffix(".weights.h5")) -> keras.Model:
    """The network with its weights, ready to answer. ValueError: weights of another port."""
    if hashlib.sha256(Path(weights).read_bytes()).hexdigest() != WEIGHTS_SHA256:
        raise ValueError(f"{weights}: not the weights of this model (SHA-256 differs)")
    model = build()
    model.load_weights(weights)
    return model


def check() -> int:
    """Compares with the stored answer of the source; the exit code."""
    stored = np.load(HERE.with_suffix(".check.npz"))
    answer = load()(stored["input"], training=False)
    y, expected = keras.ops.convert_to_numpy(answer), stored["output"]
    if y.shape != expected.shape:
        sys.exit(f"the answer has shape {list(y.shape)}, stored is {list(expected.shape)}")
    difference = np.abs(y - expected)
    largest = difference.max()
    agrees = bool((difference <= stored["bound"]).all())
    if not agrees:
        print(
            f"repeated: differs from repeated.keras, largest difference {largest:.1e}",
            file=sys.stderr,
        )
        return 1
    print(f"repeated: agrees with repeated.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"repeated: {error}")
