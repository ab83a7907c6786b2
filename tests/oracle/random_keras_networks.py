"""Keras networks that nobody chose: layers and functions drawn at random, each put behind any value that it fits, sizes unlike on
every axis, layers used twice, models within models. What Keras does not take, or what leaves the numbers that float32 holds well,
is drawn again."""
import random

import keras
import numpy as np
from keras import layers as L  # noqa: N812
from keras import ops

SHAPES = [(9, 8, 3), (7, 10, 4), (8, 6, 2), (11, 5), (12, 8), (9, 6), (4, 5, 6, 2), (7,)]
LARGEST, MOST = 1e3, 20_000


def of_images(r, h, w, c):
    same = r.choice(["same", "valid"])
    yield lambda: L.Conv2D(r.choice([3, 4, 6]), r.choice([1, 2, 3, (3, 1), (2, 4)]), r.choice([1, 2, 3]), same)
    yield lambda: L.Conv2D(5, r.choice([2, 3, (3, 2)]), 1, same, dilation_rate=r.choice([2, (1, 2)]), activation=r.choice(["relu", "gelu", None]))
    yield lambda: L.Conv2D(c * 2, 3, 1, same, groups=c)
    yield lambda: L.DepthwiseConv2D(r.choice([2, 3]), r.choice([1, 2]), same, depth_multiplier=r.choice([1, 2]))
    yield lambda: L.SeparableConv2D(5, 3, r.choice([1, 2]), same, depth_multiplier=r.choice([1, 2]))
    yield lambda: L.Conv2DTranspose(4, r.choice([2, 3, 4]), r.choice([1, 2, 3]), same)
    yield lambda: L.Conv2DTranspose(3, (3, 2), 2, same, output_padding=r.choice([0, 1]))
    yield lambda: L.MaxPooling2D(r.choice([2, 3, (3, 2)]), r.choice([None, 1, 2]), same)
    yield lambda: L.AveragePooling2D(r.choice([2, 3, (2, 3)]), r.choice([None, 1, 2]), same)
    yield lambda: r.choice([L.GlobalAveragePooling2D, L.GlobalMaxPooling2D])(keepdims=r.random() < 0.5)
    yield lambda: L.UpSampling2D(r.choice([2, (1, 3)]), interpolation=r.choice(["nearest", "bilinear"]))
    yield lambda: L.Resizing(r.choice([5, 12]), r.choice([4, 9]), interpolation=r.choice(["bilinear", "nearest", "bicubic"]))
    yield lambda: L.ZeroPadding2D(r.choice([1, (1, 2), ((1, 0), (0, 2))]))
    yield lambda: L.Cropping2D(r.choice([1, ((1, 0), (0, 2))]))
    yield lambda: L.Permute(r.choice([(2, 1, 3), (3, 1, 2), (1, 3, 2)]))
    yield lambda: L.Reshape(r.choice([(h * w, c), (h, w * c), (-1,), (w, -1, c)]))
    yield lambda: L.SpatialDropout2D(0.3)
    yield lambda: L.GroupNormalization(r.choice([1, c, -1]))
    yield lambda: L.TimeDistributed(L.Conv1D(4, 2, padding=same))


def of_volumes(r, d, h, w, c):
    same = r.choice(["same", "valid"])
    yield lambda: L.Conv3D(3, r.choice([2, (1, 3, 2)]), r.choice([1, 2]), same)
    yield lambda: L.Conv3DTranspose(2, 2, r.choice([1, 2]), same)
    yield lambda: L.MaxPooling3D(2, r.choice([None, 1]), same)
    yield lambda: L.AveragePooling3D((1, 2, 3), r.choice([None, 1]), same)
    yield lambda: L.UpSampling3D((1, 2, 1))
    yield lambda: L.ZeroPadding3D(((0, 1), (1, 0), (2, 1)))
    yield lambda: L.Cropping3D(((0, 1), (1, 0), (1, 1)))
    yield lambda: L.TimeDistributed(L.Conv2D(3, 2, padding=same))
    yield lambda: L.Reshape((d * h, w, c))
    yield lambda: L.Permute((3, 1, 2, 4))


def of_sequences(r, t, c):
    same = r.choice(["same", "valid", "causal"])
    more = r.random() < 0.6
    plain = "valid" if same == "causal" else same
    yield lambda: L.Conv1D(r.choice([4, 6]), r.choice([2, 3]), r.choice([1, 2]), same)
    yield lambda: L.Conv1D(4, 2, 1, same, dilation_rate=2)
    yield lambda: L.Conv1DTranspose(3, r.choice([2, 3]), r.choice([1, 2, 3]), plain)
    yield lambda: L.SeparableConv1D(5, 3, r.choice([1, 2]), plain)
    yield lambda: r.choice([L.MaxPooling1D, L.AveragePooling1D])(r.choice([2, 3]), r.choice([None, 1, 2]), plain)
    yield lambda: r.choice([L.GlobalAveragePooling1D, L.GlobalMaxPooling1D])()
    yield lambda: L.UpSampling1D(2)
    yield lambda: L.ZeroPadding1D((1, 2))
    yield lambda: L.Cropping1D((1, 2))
    yield lambda: L.LSTM(5, return_sequences=more, go_backwards=r.random() < 0.3)
    yield lambda: L.GRU(4, return_sequences=more, reset_after=r.random() < 0.6)
    yield lambda: L.SimpleRNN(4, return_sequences=more, activation=r.choice(["relu", "tanh"]))
    yield lambda: L.Bidirectional(r.choice([L.LSTM, L.GRU])(3, return_sequences=more), merge_mode=r.choice(["concat", "sum", "ave", "mul"]))
    yield lambda: L.Reshape(r.choice([(c, t), (t, c, 1), (-1,), (1, -1, c)]))
    yield lambda: L.Permute((2, 1))
    yield lambda: L.TimeDistributed(L.Dense(4, "tanh"))


def of_vectors(r, c):
    yield lambda: L.RepeatVector(3)
    yield lambda: L.Reshape((c, 1))
    yield lambda: L.Dense(r.choice([5, 8]), r.choice([None, "softplus", "selu", "hard_sigmoid", "mish"]))


def of_any(r, shape):
    rank = len(shape)
    axis = r.randint(1, rank)
    yield lambda: L.Dense(r.choice([3, 6]), use_bias=r.random() < 0.7)
    yield lambda: L.BatchNormalization(axis=r.choice([-1, axis]))
    yield lambda: L.LayerNormalization(axis=r.choice([-1, axis]), center=r.random() < 0.7)
    yield lambda: L.UnitNormalization(axis=axis)
    yield lambda: L.Activation(r.choice(["relu", "elu", "gelu", "silu", "tanh", "softsign", "relu6", "hard_silu", "leaky_relu", "exponential"]))
    yield lambda: L.Softmax(axis=axis)
    yield lambda: L.LeakyReLU(r.choice([0.1, 0.3]))
    yield lambda: L.PReLU(shared_axes=r.choice([None, list(range(1, rank))]) if rank > 1 else None)
    yield lambda: L.ReLU(max_value=r.choice([None, 2]), negative_slope=r.choice([0, 0.2]), threshold=r.choice([0, 0.5]))
    yield lambda: L.Rescaling(r.choice([0.5, 2]), r.choice([0, -1]))
    yield lambda: L.Flatten()
    yield lambda: L.Dropout(0.5)
    yield lambda: L.EinsumDense("...x,xy->...y", output_shape=4, bias_axes="y")


def functions(r, shape):
    """Of one value, as keras.ops writes it."""
    axis = r.randint(1, len(shape))
    start, step = r.choice([0, 1]), r.choice([1, 2])
    key = (slice(None),) * axis + (slice(start, None, step),)
    turn = [0, *r.sample(range(1, len(shape) + 1), len(shape))]
    return r.choice([
        lambda x: ops.mean(x, axis=axis), lambda x: ops.max(x, axis=axis, keepdims=True), lambda x: ops.sum(x, axis=axis) * 0.25,
        lambda x: x[key], lambda x: ops.flip(x, axis=axis), lambda x: ops.roll(x, 2, axis=axis), lambda x: ops.transpose(x, turn),
        lambda x: ops.clip(x, -1.5, 2.5), lambda x: ops.abs(x) - 0.5, lambda x: ops.sqrt(ops.abs(x) + 1), lambda x: 1 / (1 + x * x),
        lambda x: ops.repeat(x, 2, axis=axis), lambda x: ops.expand_dims(x, axis), lambda x: ops.where(x > 0.3, x, -x * 0.5),
        lambda x: ops.concatenate([x, x * 2], axis=axis), lambda x: ops.split(x, [1], axis=axis)[1], lambda x: ops.logsumexp(x, axis=axis),
        lambda x: ops.pad(x, [(0, 0)] * axis + [(1, 2)] + [(0, 0)] * (len(shape) - axis), r_mode), lambda x: ops.var(x, axis=axis),
        lambda x: ops.take(x, [1, 0, 1], axis=axis), lambda x: ops.minimum(x, ops.mean(x, axis=axis, keepdims=True)),
        lambda x: ops.normalize(x, axis=axis), lambda x: ops.cumsum(x, axis=axis) * 0.2, lambda x: ops.stack([x, -x], axis=axis),
    ]) if (r_mode := r.choice(["constant", "reflect", "symmetric"])) else None


OF_RANK = {1: of_vectors, 2: of_sequences, 3: of_images, 4: of_volumes}


def joined(r, values, x):
    """Two values of one shape put together, or x with what it may be multiplied by."""
    alike = [v for v in values if v.shape == x.shape]
    return r.choice([L.Add, L.Multiply, L.Subtract, L.Average, L.Maximum, L.Concatenate])()([x, r.choice(alike)])


def step(r, values, made):
    x = r.choice(values[-3:])
    shape = tuple(x.shape[1:])
    if any(n is None or n == 0 for n in shape):
        raise ValueError("an empty axis")
    kind = r.random()
    if kind < 0.12 and len(values) > 1:
        return joined(r, values, x)
    if kind < 0.3:
        return functions(r, shape)(x)
    if kind < 0.36 and made:
        return r.choice(made)(x)  # a layer that is used once more
    if kind < 0.42:
        inner = keras.Input(shape)
        layer = keras.Model(inner, r.choice(list(of_any(r, shape)))()(inner))
    else:
        choices = list(OF_RANK.get(len(shape), lambda *_: [])(r, *shape)) + (list(of_any(r, shape)) if r.random() < 0.4 else [])
        layer = r.choice(choices or list(of_any(r, shape)))()
    y = layer(x)
    made.append(layer)
    return y


def drawn(seed: int):
    """A model and one input of it."""
    r, numbers = random.Random(seed), np.random.default_rng(seed)
    keras.utils.set_random_seed(seed)
    while True:
        shape = r.choice(SHAPES)
        x = keras.Input(shape)
        values, made = [x], []
        for _ in range(60):
            if len(values) > r.randint(4, 9):
                break
            try:
                y = step(r, values, made)
                if 0 < np.prod(y.shape[1:]) <= MOST and len(y.shape) <= 5:
                    values.append(y)
            except Exception:  # noqa: BLE001, S112 -- what Keras does not take
                continue
        model = keras.Model(x, values[-1] if r.random() < 0.6 or len(values) < 3 else [values[-1], values[-2]])
        for weight in model.weights:
            low = 0.5 if "variance" in weight.path else -1
            weight.assign(numbers.uniform(low, 1.2, weight.shape))
        given = numbers.uniform(-2, 2, (2, *shape)).astype(np.float32)
        try:
            answers = [np.asarray(y) for y in keras.tree.flatten(model(given, training=False))]
        except Exception:  # noqa: BLE001, S112 -- what runs on no processor
            continue
        if len(model.layers) > 2 and all(np.isfinite(y).all() and np.abs(y).max() < LARGEST for y in answers):
            return model, given, answers
