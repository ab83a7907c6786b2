"""scoped, ported by convoy 0.1.0 from scoped.keras.

Weights: scoped.weights.h5. Check: python scoped.py
"""

import hashlib
import sys
from pathlib import Path

import keras
import numpy as np
from keras import layers

HERE = Path(__file__).resolve()
WEIGHTS_SHA256 = "0123"


def body_block(inputs, kernel_size, name):
    x = layers.Conv2D(4, kernel_size, padding="same", use_bias=False, name=f"{name}_conv")(inputs)
    x = layers.ReLU(name=f"{name}_relu")(x)
    return layers.Add(name=f"{name}_twice")([x, inputs])


def build() -> keras.Model:
    """float32 [N, 11, 14, 4] -> float32 [N, 11, 14, 4]."""

    inputs = keras.Input((11, 14, 4), name="image")
    x = body_block(inputs, 3, name="body_0")
    x = body_block(x, 5, name="body_1")
    x = body_block(x, 1, name="body_2")
    return keras.Model(inputs, x, name="scoped")


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
            f"scoped: differs from scoped.keras, largest difference {largest:.1e}", file=sys.stderr
        )
        return 1
    print(f"scoped: agrees with scoped.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"scoped: {error}")
