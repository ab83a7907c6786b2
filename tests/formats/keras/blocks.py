"""blocks, ported by convoy 0.1.0 from blocks.keras.

Weights: blocks.weights.h5. Check: python blocks.py
"""

import hashlib
import sys
from pathlib import Path

import keras
import numpy as np
from keras import layers

HERE = Path(__file__).resolve()
WEIGHTS_SHA256 = "0123"


def block(inputs, filters, kernel_size, name):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"{name}_1_conv")(inputs)
    x = layers.ReLU(name=f"{name}_1_relu")(x)
    x = layers.MaxPooling2D(3, strides=1, padding="same", name=f"{name}_pool")(x)
    x = layers.Conv2D(filters, kernel_size, padding="same", use_bias=False, name=f"{name}_2_conv")(
        x
    )
    return layers.Add(name=f"{name}_add")([inputs, x])


def build() -> keras.Model:
    """float32 [N, 11, 14, 3] -> float32 [N, 6, 7, 6]."""

    inputs = keras.Input((11, 14, 3), name="image")
    x = layers.Conv2D(4, 3, padding="same", use_bias=False, name="stem")(inputs)
    for i in range(1, 4):
        x = block(x, 4, 3, name=f"stage2_block{i}")
    stage2_block3 = x
    stage3_block1_shortcut = layers.Conv2D(
        6, 1, strides=2, padding="same", use_bias=False, name="stage3_block1_shortcut"
    )(stage2_block3)
    x = layers.Conv2D(6, 3, strides=2, padding="same", use_bias=False, name="stage3_block1_1_conv")(
        stage2_block3
    )
    x = layers.ReLU(name="stage3_block1_1_relu")(x)
    x = layers.MaxPooling2D(3, strides=1, padding="same", name="stage3_block1_pool")(x)
    x = layers.Conv2D(6, 5, padding="same", use_bias=False, name="stage3_block1_2_conv")(x)
    x = layers.Add(name="stage3_block1_add")([stage3_block1_shortcut, x])
    for i in range(2, 5):
        x = block(x, 6, 5, name=f"stage3_block{i}")
    return keras.Model(inputs, x, name="blocks")


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
            f"blocks: differs from blocks.keras, largest difference {largest:.1e}", file=sys.stderr
        )
        return 1
    print(f"blocks: agrees with blocks.keras, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(check())
    except (OSError, ValueError) as error:
        sys.exit(f"blocks: {error}")
