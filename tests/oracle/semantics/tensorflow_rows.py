"""What TensorFlow's own functions do at the edges: one expression of tf a row, in the layer of a Keras model's source."""
import numpy as np
import tensorflow as tf
from edges import F32, LEFT, NAN, ODD, ODD_ROWS, RIGHT, TIES, WHOLE_LEFT, WHOLE_RIGHT, grid
from keras_rows import FLOATS, IMAGES, ROWS, WHOLE_ROWS_BY, WHOLES
from torch_rows import entries

MODULE = """import keras
import tensorflow as tf

class Edge(keras.layers.Layer):
    def call(self, {names}):
        return {text}

def build():
{inputs}
    return keras.Model([{names}], Edge()({names}))
"""

EXACT = """tf.abs(x)|tf.math.negative(x)|tf.sign(x)|tf.math.floor(x)|tf.math.ceil(x)|tf.round(x)|tf.square(x)|tf.nn.relu(x)|tf.nn.relu6(x)|tf.nn.leaky_relu(x)
tf.nn.leaky_relu(x, 0.25)|tf.clip_by_value(x, -0.5, 0.5)|tf.clip_by_value(x, 0.5, -0.5)|tf.maximum(x, 0.0)|tf.minimum(x, -1.0)|tf.where(x > 0, x, 0.0)|tf.math.is_nan(x)
tf.math.floormod(x, 3.0)|tf.math.floordiv(x, -3.0)|tf.math.multiply_no_nan(x, 0.0)|tf.math.divide_no_nan(x, 0.0)|tf.cast(x, tf.bool)|tf.identity(x)"""
NEAR = """tf.exp(x)|tf.math.log(x)|tf.sqrt(x)|tf.math.rsqrt(x)|tf.math.reciprocal(x)|tf.sin(x)|tf.cos(x)|tf.math.tanh(x)|tf.sigmoid(x)|tf.math.erf(x)|tf.math.expm1(x)|tf.math.log1p(x)
tf.nn.elu(x)|tf.nn.selu(x)|tf.nn.gelu(x)|tf.nn.gelu(x, approximate=True)|keras.activations.gelu(x)|keras.activations.gelu(x, approximate=True)|tf.nn.silu(x)|tf.nn.softplus(x)|tf.nn.softsign(x)|tf.pow(x, 2.0)|tf.pow(x, 0.5)|tf.math.log_sigmoid(x)"""
WHOLE_TOO = """tf.abs(x)|tf.square(x)|tf.maximum(x, 1)|x // 2|x % 3|tf.cast(x, tf.float32)|tf.math.floormod(x, 3)|tf.math.floordiv(x, 3)|tf.clip_by_value(x, 1, 3)"""
PAIRS = """tf.add(x, y)|tf.subtract(x, y)|tf.multiply(x, y)|tf.divide(x, y)|tf.maximum(x, y)|tf.minimum(x, y)|tf.math.floormod(x, y)|tf.math.floordiv(x, y)|tf.equal(x, y)|tf.greater(x, y)
tf.less_equal(x, y)|tf.where(x > y, x, y)|tf.math.squared_difference(x, y)|tf.math.divide_no_nan(x, y)"""
FOLDS = """tf.reduce_sum(x, -1)|tf.reduce_mean(x, -1)|tf.reduce_max(x, -1)|tf.reduce_min(x, -1)|tf.reduce_prod(x, -1)|tf.argmax(x, -1)|tf.argmin(x, -1)|tf.math.cumsum(x, -1)|tf.reduce_max(x)"""
NEAR_FOLDS = """tf.nn.softmax(x)|tf.nn.log_softmax(x)|tf.math.reduce_logsumexp(x, -1)|tf.math.reduce_std(x, -1)|tf.math.reduce_variance(x, -1)|tf.nn.l2_normalize(x, -1)|tf.norm(x, axis=-1)"""
ON_IMAGES = """tf.nn.max_pool2d(x, 2, 2, "VALID")|tf.nn.max_pool2d(x, 3, 2, "SAME")|tf.nn.avg_pool2d(x, 2, 2, "VALID")|tf.nn.avg_pool2d(x, 3, 2, "SAME")|tf.reduce_max(x, [1, 2])
tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]])|tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "REFLECT")|tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "SYMMETRIC")|tf.reverse(x, [1])
tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], constant_values=-7.0)|tf.image.resize(x, [3, 7])|tf.image.resize(x, [3, 7], method="nearest")|tf.transpose(x, [0, 2, 1, 3])"""

pick = F32([[[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, NAN]]])
OTHERS = [
    ("tf.gather(x, [0, 3, 2], axis=1)", [pick], 1), ("tf.gather(x, [4], axis=1)", [pick], 1), ("tf.gather(x, [-1], axis=1)", [pick], 1),
    ("tf.one_hot(tf.cast(x, tf.int32), 3)", [F32([[0, 1, 2, 3, -1]])], 1), ("tf.matmul(x, y)", [F32([[[np.inf, 1], [0, 2]]]), F32([[[0, 1], [1, NAN]]])], 0),
    ("tf.concat([x, y], -1)", [F32([[1, -0.0]]), F32([[NAN, np.inf]])], 1), ("tf.stack([x, y], 1)", [F32([[1, -0.0]]), F32([[NAN, np.inf]])], 1),
]


def rows():
    for exact, table in ((1, EXACT), (0, NEAR)):
        for text in entries(table):
            for name, x in FLOATS.items():
                yield f"{text} {name}", text, [x[None]], exact
    for text in entries(WHOLE_TOO):
        for name, x in WHOLES.items():
            yield f"{text} {name}", text, [x[None]], 1
    pairs = {"finite": grid(LEFT, RIGHT), "special": grid(ODD, ODD), "int32": grid(WHOLE_LEFT, WHOLE_RIGHT)}
    for text in entries(PAIRS):
        for name, (a, b) in pairs.items():
            yield f"{text} {name}", text, [a[None], b[None]], 0 if "divide" in text else 1
    for exact, table in ((1, FOLDS), (0, NEAR_FOLDS)):
        for text in entries(table):
            for name, x in (ROWS | ({"int32": WHOLE_ROWS_BY["int32"]} if exact else {})).items():
                yield f"{text} {name}", text, [x], 0 if "mean" in text else exact
    for text in entries(ON_IMAGES):
        for name, x in IMAGES.items():
            yield f"{text} {name}", text, [x], int("avg" not in text and text != "tf.image.resize(x, [3, 7])")
    for text in ("tf.math.top_k(x, 2)", "tf.sort(x, axis=-1)", "tf.argsort(x, axis=-1)"):
        for name, x in {"ties": TIES, "odd": ODD_ROWS}.items():
            yield f"{text} {name}", text, [x], 1
    for text, inputs, exact in OTHERS:
        yield text, text, inputs, exact


def build(text, inputs):
    names = "xyz"[: len(inputs)]
    lines = [f'    {n} = keras.Input({x.shape[1:]}, dtype="{x.dtype.name}", name="{n}")' for n, x in zip(names, inputs)]
    module = MODULE.format(names=", ".join(names), text=text, inputs="\n".join(lines))
    model_of(module)
    return module, [np.asarray(x) for x in inputs]


def model_of(module):
    names = {}
    exec(module, names)
    return names["build"]()


def answer(module, inputs):
    out = model_of(module)([tf.convert_to_tensor(x) for x in inputs])
    return [y.numpy() for y in (out if isinstance(out, (tuple, list)) else [out])]


def framework():
    return f"tensorflow {tf.__version__}"
