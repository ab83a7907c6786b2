"""Sizes that are free in Keras source: what a call() computes of ops.shape and tf.shape, at sizes that nobody named before."""
import numpy as np
import pytest
import torch
from carrying import assert_close, convoy, import_file, run_natively

HEAD = """
import keras
import tensorflow as tf
from keras import layers, ops

class Part(layers.Layer):
    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, 4), name="token", initializer="ones")
        self.places = self.add_weight(shape=(1, 40, 4), name="places", initializer="glorot_uniform")
        self.look_up = layers.Embedding(40, 4, name="look_up")

    def call(self, x):
        {body}

def net():
    x = keras.Input({shape})
    return keras.Model(x, Part()(x))
"""
ONE, TWO = "(5, 4)", "(None, 4)"  # with a free batch, and with free steps as well
IMAGE = "(None, None, 4)"
CASES = {
    "token broadcast": (ONE, "return ops.concatenate([ops.broadcast_to(self.token, (ops.shape(x)[0], 1, 4)), x], 1)"),
    "token tiled": (TWO, "return tf.concat([tf.tile(self.token, [tf.shape(x)[0], 1, 1]), x], 1)"),
    "token repeated": (ONE, "return ops.concatenate([ops.repeat(self.token, ops.shape(x)[0], axis=0), x], 1)"),
    "zeros in front": (TWO, "return ops.concatenate([ops.zeros((ops.shape(x)[0], 1, 4)), x], 1)"),
    "ones of a type": (ONE, "return x * ops.cast(ops.ones((ops.shape(x)[0], 1, 1), dtype='int32'), 'float32')"),
    "filled": (TWO, "return x + tf.fill([tf.shape(x)[0], tf.shape(x)[1], 1], 2.5)"),
    "full": (TWO, "return x - ops.full((ops.shape(x)[1], 4), 3.0)"),
    "flattened": (TWO, "return ops.reshape(x, (ops.shape(x)[0], -1))"),
    "heads": (TWO, "b, t, d = ops.shape(x); return ops.transpose(ops.reshape(x, (b, t, 2, d // 2)), (0, 2, 1, 3))"),
    "heads and back": (TWO, "b, t, d = ops.shape(x); "
                            "y = ops.transpose(ops.reshape(x * 2, (b, t, 2, 2)), (0, 2, 1, 3)); "
                            "return ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (b, t, d))"),
    "sizes of another": (TWO, "y = ops.relu(x) - 1; return ops.reshape(y, (ops.shape(x)[0], ops.shape(x)[1], 2, 2))"),
    "folded into the batch": (TWO, "b, t, d = ops.shape(x); y = ops.reshape(x, (b * t, d)); "
                                   "return ops.reshape(ops.tanh(y), (b, t, d))"),
    "twice as many": (TWO, "return ops.reshape(x, (ops.shape(x)[0], ops.shape(x)[1] * 2, 2))"),
    "rows of an image": (IMAGE, "s = tf.shape(x); return tf.reshape(x, [s[0], s[1] * s[2], 4])"),
    "image and back": (IMAGE, "b, h, w, c = ops.shape(x); y = ops.reshape(x, (b, h * w, c)); "
                              "return ops.reshape(ops.exp(y), (b, h, w, c))"),
    "positions counted": (TWO, "return x + tf.cast(tf.range(tf.shape(x)[1]), tf.float32)[None, :, None]"),
    "positions from one on": (TWO, "return x * ops.cast(ops.arange(1, ops.shape(x)[1] + 1), 'float32')[:, None]"),
    "positions looked up": (TWO, "return x + self.look_up(ops.arange(0, ops.shape(x)[1], 1))"),
    "positions cut off": (TWO, "return x + self.places[:, :ops.shape(x)[1], :]"),
    "positions cut with tf": (TWO, "return x + self.places[:, : tf.shape(x)[-2]]"),
    "broadcast to another": (TWO, "return ops.concatenate([x, ops.broadcast_to(self.token, ops.shape(x))], -1)"),
    "causal by sizes": (TWO, "i = tf.range(tf.shape(x)[1]); s = tf.matmul(x, x, transpose_b=True); "
                             "return tf.where(i[:, None] >= i[None, :], s, -5.0)"),
}


@pytest.mark.parametrize("name", CASES)
def test_as_keras_at_every_size(name, tmp_path):
    shape, body = CASES[name]
    (tmp_path / "net.py").write_text(HEAD.format(shape=shape, body=body))
    model = import_file(tmp_path / "net.py").net()
    model.save_weights(tmp_path / "net.weights.h5")
    source = [f"{tmp_path / 'net.py'}:net", "--weights", tmp_path / "net.weights.h5"]
    convoy("port", *source, "-o", tmp_path / "ported.py")
    convoy("port", *source, "-o", tmp_path / "ported.onnx")
    convoy("port", *source, "-o", tmp_path / "ported.keras")
    ported = import_file(tmp_path / "ported.py").load()

    random = np.random.default_rng(len(name))
    for batch, steps in ((1, 5), (3, 5), (4, 2), (2, 9)):
        free = {ONE: (batch, 5, 4), TWO: (batch, steps, 4), IMAGE: (batch, steps, steps + 1, 4)}[shape]
        x = random.integers(-4, 5, free).astype(np.float32)
        want = np.asarray(model(x))
        for files in (source, [tmp_path / "ported.onnx"], [tmp_path / "ported.keras"]):
            (got,) = run_natively(files, {"x": x}, tmp_path)
            assert_close(got, want)
        if len(free) == 3:  # images come and go channels first there
            assert_close(ported(torch.from_numpy(x)).detach().numpy(), want)


def test_what_a_free_size_decides_asks_for_it(tmp_path):
    body = "return x * 2 if ops.shape(x)[1] > 3 else x"
    (tmp_path / "net.py").write_text(HEAD.format(shape=TWO, body=body))
    done = convoy("summary", f"{tmp_path / 'net.py'}:net", code=2)
    assert "size 1 of [N, ?, 4], which is free" in done.stderr and "--shape" in done.stderr
