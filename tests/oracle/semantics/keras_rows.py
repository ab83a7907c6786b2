"""What Keras on TensorFlow does at the edges: one expression of keras.ops or keras.layers a row, as the JSON of its model."""
import keras
import numpy as np
from edges import (BYTE_ROWS, BYTES, F32, FAR, FINITE, INF, LEFT, NAN, ODD, ODD_ROWS, PLAIN_ROWS, QUOTIENTS, RIGHT, SPECIAL,
                   STEPS, TIES, TRUTH, TRUTH_ROWS, WHOLE, WHOLE_FAR, WHOLE_LEFT, WHOLE_RIGHT, WHOLE_ROWS, grid)
from torch_rows import entries

FLOATS = {"finite": FINITE, "far": FAR, "special": SPECIAL}
WHOLES = {"int32": WHOLE, "int32_far": WHOLE_FAR, "uint8": BYTES}
ROWS = {"ties": TIES, "odd": ODD_ROWS, "plain": PLAIN_ROWS}
WHOLE_ROWS_BY = {"int32": WHOLE_ROWS, "uint8": BYTE_ROWS, "bool": TRUTH_ROWS}

EXACT = """ops.abs(x)|ops.negative(x)|ops.sign(x)|ops.floor(x)|ops.ceil(x)|ops.round(x)|ops.trunc(x)|ops.square(x)|ops.equal(x, x)|ops.not_equal(x, x)
ops.greater(x, 0)|ops.less(x, 0)|ops.greater_equal(x, 0)|ops.less_equal(x, 0)|ops.isnan(x)|ops.isinf(x)|ops.isfinite(x)|ops.logical_not(x)|ops.cast(x, "bool")
x * 0|x + 0|x - x|0 - x|x / 0|x * -1|ops.relu(x)|ops.relu6(x)|ops.hard_tanh(x)|ops.leaky_relu(x, 0.25)|ops.leaky_relu(x, -0.5)|ops.leaky_relu(x, 0.0)
ops.hard_shrink(x)|ops.hard_shrink(x, 1.5)|ops.soft_shrink(x)|ops.soft_shrink(x, 1.5)|ops.threshold(x, 0.5, -7.0)|ops.threshold(x, -1.0, 20.0)
ops.clip(x, 0.5, -0.5)|ops.clip(x, -0.5, 0.5)|ops.clip(x, 3.0, 2.0)|ops.clip(x, 0.0, -1.0)|ops.clip(x, 0.0, 6.0)|ops.clip(x, 0.0, 1.0)|ops.clip(x, 1.0, 1.0)
ops.clip(x, -1.0, 1.0)|ops.clip(x, 1.0, -1.0)|ops.maximum(x, 0.0)|ops.minimum(x, -1.0)|ops.maximum(ops.minimum(x, -0.5), 0.5)|ops.minimum(ops.maximum(x, 0.5), -0.5)
ops.where(x > 0, x, 0.0)|ops.where(x > 1, 1.0, x)|ops.mod(x, 3.0)|ops.mod(x, -3.0)|ops.mod(x, 0.75)|ops.floor_divide(x, 3.0)|ops.floor_divide(x, -3.0)
ops.floor_divide(x, 0.0)|ops.mod(x, 0.0)|ops.nan_to_num(x)|x // 2|x % 2|ops.sparse_plus(x)|ops.sparse_sigmoid(x)|layers.ReLU()(x)|layers.ReLU(6.0)(x)
layers.ReLU(6.0, 0.25)(x)|layers.ReLU(6.0, 0.0, 1.0)(x)|layers.ReLU(2.0, 0.5, 1.0)(x)|layers.ReLU(None, 0.5, 1.0)(x)|layers.ReLU(0.5, 0.0, 1.0)(x)|layers.ReLU(0.0)(x)
layers.ReLU(2.0, 0.0, 0.5)(x)|layers.LeakyReLU()(x)|layers.LeakyReLU(0.25)(x)|layers.LeakyReLU(0.0)(x)|layers.PReLU("zeros")(x)
layers.PReLU(keras.initializers.Constant(0.25))(x)|layers.Activation("relu")(x)|layers.Activation("relu6")(x)|layers.Activation("leaky_relu")(x)
layers.Activation("hard_tanh")(x)|layers.Activation("hard_shrink")(x)|layers.Activation("threshold")(x)|layers.Activation("soft_shrink")(x)|layers.Rescaling(2.0, -1.0)(x)
layers.Activation("linear")(x)|layers.Identity()(x)|ops.maximum(x, ops.negative(x))|layers.Maximum()([x, x * 0])|layers.Minimum()([x, x * 0])|ops.relu(ops.negative(x))"""

NEAR = """ops.exp(x)|ops.log(x)|ops.sqrt(x)|ops.rsqrt(x)|ops.reciprocal(x)|1 / x|ops.sin(x)|ops.cos(x)|ops.tan(x)|ops.arcsin(x)|ops.arccos(x)|ops.arctan(x)|ops.sinh(x)
ops.cosh(x)|ops.arcsinh(x)|ops.arccosh(x)|ops.arctanh(x)|ops.expm1(x)|ops.log1p(x)|ops.log2(x)|ops.log10(x)|ops.erf(x)|ops.sigmoid(x)|ops.tanh(x)|ops.elu(x)|ops.elu(x, 0.5)
ops.selu(x)|ops.celu(x)|ops.celu(x, 2.0)|ops.gelu(x, False)|ops.gelu(x)|ops.silu(x)|ops.softplus(x)|ops.softsign(x)|ops.log_sigmoid(x)|ops.hard_sigmoid(x)
ops.hard_silu(x)|ops.tanh_shrink(x)|ops.squareplus(x)|ops.squareplus(x, 0.5)|ops.power(x, 2.0)|ops.power(x, 3.0)|ops.power(x, 0.5)|ops.power(x, -1.0)|ops.power(x, 0.0)
ops.power(x, 1.5)|ops.power(2.0, x)|ops.power(-2.0, x)|ops.power(0.0, x)|ops.power(x, 1 / 3)|x ** 2|x ** 3|layers.ELU()(x)|layers.ELU(0.5)(x)|layers.ELU(-1.0)(x)
layers.Activation("elu")(x)|layers.Activation("selu")(x)|layers.Activation("gelu")(x)|layers.Activation("softplus")(x)|layers.Activation("hard_sigmoid")(x)|layers.Activation("mish")(x)
layers.Activation("swish")(x)|layers.Activation("exponential")(x)|layers.Activation("celu")(x)|layers.Activation("log_sigmoid")(x)|layers.Activation("squareplus")(x)
layers.Activation("tanh_shrink")(x)|layers.Activation("softsign")(x)|layers.Activation("hard_silu")(x)|layers.Activation("sparse_plus")(x)|layers.Activation("sigmoid")(x)
layers.Activation("tanh")(x)|ops.sqrt(ops.abs(x))|ops.exp2(x)|ops.logaddexp(x, 0.0)|x * ops.sigmoid(1.702 * x)"""

WHOLE_TOO = """ops.abs(x)|ops.negative(x)|ops.sign(x)|ops.square(x)|x * x|x + x|x - 1|x * 3|x + 0.5|x / 2|x // 2|x // -2|x % 3|x % -3|ops.equal(x, 0)|ops.greater(x, 1)|ops.relu(x)
ops.clip(x, 3, -2)|ops.clip(x, -2, 3)|ops.cast(x, "float32")|ops.cast(x, "bool")|ops.cast(x, "float32") / 3|ops.logical_not(x)|ops.power(x, 2)|ops.maximum(x, 1)
ops.minimum(x, 1)|ops.where(x > 1, x, 0)|ops.where(x > 1, x, 0.5)|ops.floor(x)|ops.round(x)|ops.ceil(x)|ops.trunc(x)|ops.reciprocal(x)|1 / x|x * 1.0|ops.cast(x, "int8")|ops.cast(x, "int16")
ops.cast(x, "uint8")|ops.cast(x, "int64")|ops.exp(ops.clip(x, 0, 9))|ops.sigmoid(x)|ops.sqrt(x)|ops.log(x)|layers.Rescaling(0.5, 1)(x)|x ** 2|5 - x|ops.floor_divide(x, 3)|ops.mod(x, 3)"""
BOOL_TOO = """ops.logical_not(x)|ops.logical_and(x, x)|ops.logical_or(x, x)|ops.logical_xor(x, x)|ops.cast(x, "float32")|ops.cast(x, "int32") - 1|ops.where(x, 1.0, 2.0)|ops.add(x, x)|ops.multiply(x, x)
ops.sum(x, -1)|ops.mean(x, -1)|ops.any(x, -1)|ops.all(x, -1)|ops.max(x, -1)|ops.prod(x, -1)|ops.cumsum(x, -1)|x + 1|x * 2|x / 2|ops.maximum(x, ops.logical_not(x))|ops.where(x, 1, 2)"""
PAIRS = """x + y|x - y|x * y|x / y|x // y|x % y|ops.maximum(x, y)|ops.minimum(x, y)|ops.equal(x, y)|ops.not_equal(x, y)|ops.less(x, y)|ops.less_equal(x, y)|ops.greater(x, y)
ops.greater_equal(x, y)|ops.where(x > y, x, y)|ops.where(x < y, x, y)|ops.logical_and(x, y)|ops.logical_or(x, y)|ops.logical_xor(x, y)|layers.Maximum()([x, y])|layers.Minimum()([x, y])
layers.Average()([x, y])|layers.Subtract()([x, y])|layers.Multiply()([x, y])|layers.Add()([x, y])|ops.true_divide(x, y)|ops.divide_no_nan(x, y)"""
NEAR_PAIRS = "ops.power(x, y)|ops.arctan2(x, y)|ops.hypot(x, y)|ops.logaddexp(x, y)"
FOLDS = """ops.sum(x, -1)|ops.mean(x, -1)|ops.prod(x, -1)|ops.max(x, -1)|ops.min(x, -1)|ops.amax(x, -1)|ops.argmax(x, -1)|ops.argmin(x, -1)|ops.argmax(x, -1, True)|ops.top_k(x, 2)
ops.top_k(x, 4)|ops.sort(x, -1)|ops.argsort(x, -1)|ops.cumsum(x, -1)|ops.cumprod(x, -1)|ops.any(x, -1)|ops.all(x, -1)|ops.flip(x, -1)|ops.sum(x)|ops.max(x)|ops.count_nonzero(x, -1)
ops.median(x, -1)|ops.top_k(x, 1)"""
NEAR_FOLDS = """ops.softmax(x, -1)|ops.log_softmax(x, -1)|ops.logsumexp(x, -1)|ops.std(x, -1)|ops.var(x, -1)|ops.norm(x, axis=-1)|ops.norm(x, 1, axis=-1)|ops.normalize(x, -1)|layers.Softmax()(x)
layers.LayerNormalization()(x)|layers.UnitNormalization()(x)|ops.glu(x, -1)|layers.Activation("softmax")(x)|layers.Activation("log_softmax")(x)|layers.RMSNormalization()(x)
x / ops.sum(x, -1, keepdims=True)|layers.BatchNormalization()(x)"""

image = F32([[3, NAN, 1, 2, 0], [1, 5, 5, -1, 4], [-INF, 2, 7, 7, -3], [INF, -2, 0, -0.0, 9], [1, 1, -9, 6, 6]])[None, :, :, None]
plain = F32([[3, -8, 1, 2, 0], [1, 5, 5, -1, 4], [-4, 2, 7, 7, -3], [-6, -2, 0, -0.0, 9], [1, 1, -9, 6, 6]])[None, :, :, None]
low = np.full((1, 5, 5, 1), -INF, np.float32)
IMAGES = {"odd": image, "plain": plain, "negative": plain - 20, "lowest": low}
ON_IMAGES = """layers.MaxPooling2D(2)(x)|layers.MaxPooling2D(3, 2, "same")(x)|layers.MaxPooling2D(2, 2, "same")(x)|layers.AveragePooling2D(2)(x)|layers.AveragePooling2D(3, 2, "same")(x)
layers.AveragePooling2D(2, 2, "same")(x)|layers.GlobalMaxPooling2D()(x)|layers.GlobalAveragePooling2D()(x)|layers.UpSampling2D(2)(x)|layers.UpSampling2D(2, interpolation="bilinear")(x)
layers.Resizing(3, 7)(x)|layers.Resizing(3, 7, "nearest")(x)|layers.ZeroPadding2D(((1, 2), (0, 1)))(x)|ops.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "reflect")
ops.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "symmetric")|ops.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "constant", -7.0)|layers.Cropping2D(((1, 2), (0, 1)))(x)|ops.max(x, (1, 2))
ops.mean(x, (1, 2))|ops.roll(x, 2, 2)|x[:, ::2]|x[:, -2:]|ops.max_pool(x, 2, 2)|ops.average_pool(x, 3, 2, "same")|layers.Permute((3, 1, 2))(x)|ops.flip(x, 1)"""

pick = F32([[[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, NAN]]])
OTHERS = [
    *[(text, [a[None] for a in grid(QUOTIENTS, STEPS)], 0 if "%" in text else 1) for text in ("x // y", "x % y", "ops.floor(x / y)")],
    *[(f"ops.floor_divide(x, {step})", [QUOTIENTS[None]], 1) for step in (0.1, -0.1, 0.7)],
    ("ops.take(x, [0, -1, 2], 1)", [pick], 1), ("ops.take(x, [3, 0], -2)", [pick], 1), ("x[:, -1]", [pick], 1), ("x[:, 1:100]", [pick], 1), ("x[:, -100:2]", [pick], 1),
    ("x[..., ::-1]", [pick], 1), ("ops.take(x[0], ops.cast(y, 'int32'), 0)", [pick, F32([[0, -1, -4, 3]])], 1), ("ops.take(x[0], ops.cast(y, 'int32'), 0)", [pick, F32([[0, 4]])], 1),
    ("ops.take(x[0], ops.cast(y, 'int32'), 0)", [pick, F32([[-5]])], 1), ("ops.take(x, [4], 1)", [pick], 1), ("ops.take(x, [-5], 1)", [pick], 1),
    ("ops.take_along_axis(x, ops.cast(y, 'int32'), 2)", [pick, F32([[[0], [1], [2], [0]]])], 1), ("ops.take_along_axis(x, ops.cast(y, 'int32'), 2)", [pick, F32([[[0], [-1], [2], [0]]])], 1),
    ("ops.take_along_axis(x, ops.cast(y, 'int32'), 2)", [pick, F32([[[0], [3], [2], [-4]]])], 1),
    ("ops.one_hot(ops.cast(x, 'int32'), 3)", [F32([[0, 1, 2, 3, -1]])], 1), ("layers.CategoryEncoding(3, 'one_hot')(x)", [F32([[1]])], 1),
    ("ops.where(y > 0, x, 0.0)", [F32([[NAN, INF, 1, -0.0]]), F32([[1, 0, NAN, -1]])], 1), ("ops.where(ops.cast(y, 'bool'), x, -x)", [F32([[NAN, INF, 1, -0.0]]), F32([[1, 0, NAN, -0.0]])], 1),
    ("ops.matmul(x, y)", [F32([[[INF, 1], [0, 2]]]), F32([[[0, 1], [1, NAN]]])], 0), ("ops.matmul(ops.cast(x, 'int32'), ops.cast(y, 'int32'))", [F32([[[65536, 3], [-7, 2]]]), F32([[[65536, 1], [5, -1]]])], 1),
    ("ops.cast(x, 'uint8') + ops.cast(y, 'uint8')", [F32([[255, 200, 3]]), F32([[1, 100, 128]])], 1), ("ops.cast(x, 'uint8') + ops.cast(y, 'int8')", [F32([[255, 200, 3]]), F32([[-1, 100, -128]])], 1),
    ("ops.cast(x, 'int32') + y", [F32([[7, -7]]), F32([[0.5, -0.25]])], 1), ("ops.cast(x, 'uint8') / 255", [F32([[0, 1, 128, 255]])], 0), ("layers.Rescaling(1 / 255)(ops.cast(x, 'uint8'))", [F32([[0, 1, 128, 255]])], 0),
    ("(x > 0) == (x < 2)", [SPECIAL[None]], 1), ("ops.logical_and(x > 0, x < 2)", [SPECIAL[None]], 1), ("ops.logical_or(x, x - 1)", [SPECIAL[None]], 1), ("ops.cast(x > 0, 'float32') * x", [SPECIAL[None]], 1),
    ("ops.cast(x, 'int32')", [FINITE[None]], 1), ("ops.cast(x, 'int32')", [FAR[None, :12]], 1), ("ops.cast(ops.cast(x, 'int64'), 'float32')", [FINITE[None]], 1), ("ops.cast(ops.cast(x, 'float16'), 'float32')", [F32([[65504, 65520, 1e-3, 2049, NAN]])], 1),
    ("ops.concatenate([ops.cast(x, 'int32'), y], -1)", [F32([[1, 2]]), F32([[0.5, NAN]])], 1), ("ops.stack([x, y], 1)", [F32([[1, -0.0]]), F32([[NAN, INF]])], 1), ("ops.tril(x)", [ODD_ROWS[None, :4]], 1),
    ("ops.triu(x, 1)", [ODD_ROWS[None, :4]], 1), ("layers.Embedding(4, 2, 'ones')(x)", [F32([[0, 3]])], 1), ("layers.Dot(1)([x, y])", [F32([[INF, 1]]), F32([[0, 1]])], 1),
    ("layers.Dot(1, normalize=True)([x, y])", [F32([[0, 0], [1, 2]]), F32([[1, 2], [2, 4]])], 0), ("layers.GroupNormalization(1)(x)", [F32([[[1, 1], [1, 1]], [[1, NAN], [2, 3]]])], 0),
    ("ops.sum(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("ops.mean(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("ops.max(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("ops.prod(x, 1)", [np.zeros((2, 0), np.float32)], 1),
    ("ops.argmax(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("ops.relu(x)", [np.zeros((2, 0), np.float32)], 1), ("ops.sum(ops.cast(x, 'int32'), 1)", [F32([[2147483520, 2147483520, 3]])], 1),
    ("ops.sum(ops.cast(x, 'uint8'), 1)", [F32([[200, 200, 3]])], 1), ("ops.sum(ops.cast(x, 'int8'), 1)", [F32([[100, 100, 3]])], 1), ("ops.mean(ops.cast(x, 'int32'), 1)", [F32([[1, 2, 2, 2]])], 0),
    ("ops.prod(ops.cast(x, 'int32'), 1)", [F32([[65536, 65536, 3, 1]])], 1), ("ops.cast(x, 'int32') * ops.cast(x, 'int32')", [F32([[65536, 46341, 2]])], 1), ("ops.round(x, 1)", [F32([[0.25, 0.35, -0.15, 1.05]])], 0),
    ("layers.MaxPooling1D(2, 1, 'same')(x)", [F32([[[1], [NAN], [2], [-INF]]])], 1), ("layers.GlobalMaxPooling1D()(x)", [F32([[[1], [NAN], [2]]])], 1), ("layers.GlobalMaxPooling1D()(x)", [F32([[[-INF], [-INF]]])], 1),
    ("layers.AveragePooling1D(2, 1, 'same')(x)", [F32([[[1], [INF], [2], [-INF]]])], 0), ("layers.Normalization(mean=1.0, variance=0.0)(x)", [F32([[1, 2, NAN]])], 0),
]


def rows():
    for exact, table in ((1, EXACT), (0, NEAR)):
        for text in entries(table):
            for name, x in FLOATS.items():
                yield f"{text} {name}", text, [x[None]], exact
    for text in entries(WHOLE_TOO):
        near = any(word in text for word in ("sqrt", "exp", "sigmoid", "log", "reciprocal", "/", "0.5"))
        for name, x in WHOLES.items():
            yield f"{text} {name}", text, [x[None]], 0 if near else 1
    for text in entries(BOOL_TOO):
        yield f"{text} bool", text, [TRUTH[None]], 1
    pairs = {"finite": grid(LEFT, RIGHT), "special": grid(ODD, ODD), "int32": grid(WHOLE_LEFT, WHOLE_RIGHT), "uint8": grid(BYTES[3:], BYTES[1:])}
    for exact, table in ((1, PAIRS), (0, NEAR_PAIRS)):
        for text in entries(table):
            for name, (a, b) in pairs.items():
                yield f"{text} {name}", text, [a[None], b[None]], exact
    for exact, table in ((1, FOLDS), (0, NEAR_FOLDS)):
        for text in entries(table):
            for name, x in (ROWS | (WHOLE_ROWS_BY if exact else {})).items():
                yield f"{text} {name}", text, [x], 0 if "mean" in text else exact
    for text in entries(ON_IMAGES):
        exact = not any(word in text.lower() for word in ("average", "bilinear", "resizing(3, 7)(", "mean"))
        for name, x in IMAGES.items():
            yield f"{text} {name}", text, [x], int(exact)
    for text, inputs, exact in OTHERS:
        yield text, text, inputs, exact


def build(text, inputs):
    keras.backend.clear_session()
    symbols = [keras.Input(x.shape[1:], dtype=x.dtype.name, name=n) for x, n in zip(inputs, "xyz")]
    outputs = eval(text, {"ops": keras.ops, "layers": keras.layers, "keras": keras, **dict(zip("xyz", symbols))})
    model = keras.Model(symbols, outputs)
    if model.weights:
        raise ValueError("has weights, which its JSON has not")
    return model.to_json(), [np.asarray(x) for x in inputs]


def answer(text, inputs):
    model = keras.models.model_from_json(text)
    fed = [keras.ops.convert_to_tensor(x) for x in inputs]
    out = model(fed if len(fed) > 1 else fed[0])
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    return [keras.ops.convert_to_numpy(y) for y in out]


def framework():
    import tensorflow as tf

    return f"keras {keras.__version__} (tensorflow {tf.__version__})"
