"""Trains the example network on the handwritten digits that scikit-learn carries, and writes it.

    python examples/train_digits.py        (Keras 3.15 on TensorFlow, scikit-learn; a minute on two cores)

Writes beside itself digits.keras, and digits_held_back.npy with digits_held_back_labels.npy: ten digits, one of each,
that were not trained on. Seeded: the accuracy printed is the accuracy of the file in the repository.
"""
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

HERE = Path(__file__).parent
BATCH, EPOCHS = 32, 40


def network() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((8, 8, 1), name="image"),
            layers.Conv2D(16, 3, padding="same", use_bias=False, name="stem"),
            layers.BatchNormalization(name="stem_norm"),
            layers.ReLU(name="stem_relu"),
            layers.Conv2D(32, 3, strides=2, padding="same", activation="relu", name="down"),
            layers.BatchNormalization(name="down_norm"),
            layers.MaxPooling2D(3, strides=2, padding="same", name="pool"),
            layers.Conv2D(64, 2, padding="same", activation="relu", name="mix"),
            layers.Flatten(name="flat"),
            layers.Dropout(0.3, name="drop"),
            layers.Dense(10, activation="softmax", name="digit"),
        ],
        name="digits",
    )


def main() -> None:
    keras.utils.set_random_seed(0)
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., None]  # 0 is paper, 1 is ink
    order = np.random.default_rng(0).permutation(len(images))
    held_back, trained_on = order[:360], order[360:]

    model = network()
    rate = keras.optimizers.schedules.CosineDecay(3e-3, decay_steps=EPOCHS * -(-len(trained_on) // BATCH))
    model.compile(optimizer=keras.optimizers.Adam(rate), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(images[trained_on], digits.target[trained_on], batch_size=BATCH, epochs=EPOCHS, verbose=0)
    _, accuracy = model.evaluate(images[held_back], digits.target[held_back], verbose=0)
    print(f"{accuracy:.2%} of {len(held_back)} held-back digits are read right")
    assert accuracy > 0.97

    # Without the optimizer's state the file is a third of the size; nobody goes on training an example.
    bare = network()
    bare.set_weights(model.get_weights())
    bare.save(HERE / "digits.keras")

    one_of_each = [next(i for i in held_back if digits.target[i] == digit) for digit in range(10)]
    np.save(HERE / "digits_held_back.npy", images[one_of_each])
    np.save(HERE / "digits_held_back_labels.npy", digits.target[one_of_each].astype(np.int64))


if __name__ == "__main__":
    main()
