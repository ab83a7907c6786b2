"""`convoy run` of quantised TFLite models: one operator each over random integers, scales and shapes, and the quantised models of
the corpus, bit for bit as the interpreter's reference kernels answer them."""
import json
from dataclasses import dataclass

import numpy as np
import pytest
from carrying import cases_in, convoy

CORPUS = cases_in("corpus/tflite")
QUANTISED = [] if CORPUS is None else sorted(
    f.parent.name for f in CORPUS.glob("*/case.json") if json.loads(f.read_text()).get("group") == "quant"
)
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
CODES = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9, "int4": 17}


@dataclass
class Tensor:
    dtype: str
    shape: tuple
    scale: object = None
    zero: object = 0
    axis: int = 0
    numbers: object = None  # of a constant


def content(tensor: Tensor) -> np.ndarray:
    """The bytes of a constant; of 4 bits, two to a byte."""
    if tensor.dtype != "int4":
        return np.frombuffer(np.ascontiguousarray(tensor.numbers.astype(tensor.dtype)).tobytes(), np.uint8)
    halves = np.append(tensor.numbers.ravel(), [0] * (tensor.numbers.size % 2)).astype(np.uint8) & 15
    return halves[::2] | halves[1::2] << 4


def written(path, op: str, options: dict, inputs: list, outputs: list, version: int = 1) -> None:
    """A model of one operator. Inputs without numbers are the model's."""
    import flatbuffers
    from tensorflow.lite.python import schema_py_generated as schema

    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, graph.tensors = 3, [schema.BufferT()], []
    for number, tensor in enumerate(inputs + outputs):
        made = schema.TensorT()
        made.name, made.shape, made.type = f"t{number}", list(tensor.shape), CODES[tensor.dtype]
        if tensor.scale is not None:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = np.atleast_1d(np.float32(tensor.scale))
            made.quantization.zeroPoint = np.broadcast_to(np.int64(tensor.zero), made.quantization.scale.shape)
            made.quantization.quantizedDimension = tensor.axis
        if tensor.numbers is not None:
            buffer = schema.BufferT()
            buffer.data = content(tensor)
            made.buffer = len(model.buffers)
            model.buffers.append(buffer)
        graph.tensors.append(made)
    code, node = schema.OperatorCodeT(), schema.OperatorT()
    code.builtinCode = getattr(schema.BuiltinOperator, op)
    code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
    node.inputs, node.outputs = list(range(len(inputs))), [len(inputs) + i for i in range(len(outputs))]
    if options:
        kind = options.pop("kind")
        node.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        node.builtinOptions = getattr(schema, kind + "T")()
        for name, value in options.items():
            assert hasattr(node.builtinOptions, name), name
            setattr(node.builtinOptions, name, value)
    graph.operators, model.operatorCodes, model.subgraphs = [node], [code], [graph]
    graph.inputs = [i for i, tensor in enumerate(inputs) if tensor.numbers is None]
    graph.outputs = node.outputs
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())


def answers(path, inputs: list, reference: bool = True) -> list:
    import tensorflow as tf

    kinds = tf.lite.experimental.OpResolverType
    kind = kinds.BUILTIN_REF if reference else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = tf.lite.Interpreter(model_path=str(path), experimental_op_resolver_type=kind, num_threads=1)
    for details, x in zip(interpreter.get_input_details(), inputs, strict=True):
        if list(details["shape"]) != list(x.shape):
            interpreter.resize_tensor_input(details["index"], x.shape)
    interpreter.allocate_tensors()
    for details, x in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(details["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]


def ours(path, folder, names: list, inputs: list, outputs: int) -> list:
    words = []
    for number, (name, x) in enumerate(zip(names, inputs, strict=True)):
        np.save(folder / f"x{number}.npy", x)
        words += ["--input", f"{name}={folder / f'x{number}.npy'}"]
    to = folder / ("y.npz" if outputs > 1 else "y.npy")
    convoy("run", path, *words, "-o", to, "-f")
    return list(np.load(to).values()) if outputs > 1 else [np.load(to)]


def whole(draw, dtype: str, shape) -> np.ndarray:
    least, most = RANGES[dtype]
    return draw.integers(least, most, shape, dtype, endpoint=True)


def activation(draw, dtype: str, shape, scale=None, zero=None, numbers=False) -> Tensor:
    least, most = RANGES[dtype]
    point = 0 if dtype == "int16" else int(draw.integers(least, most)) if zero is None else zero
    size = scale or float(draw.uniform(0.3, 3)) / (most - least)
    return Tensor(dtype, shape, size, point, numbers=whole(draw, dtype, shape) if numbers else None)


def weights(draw, dtype: str, shape, axis: int, per_channel: bool) -> Tensor:
    """Around zero for signed inputs; of bytes without a sign around a point of their own, with one scale."""
    if dtype == "uint8":
        return Tensor("uint8", shape, float(draw.uniform(0.005, 0.02)), int(draw.integers(90, 160)), 0, whole(draw, "uint8", shape))
    scale = draw.uniform(0.005, 0.02, shape[axis] if per_channel else 1)
    return Tensor("int8", shape, scale, 0, axis, draw.integers(-127, 127, shape, "int8", endpoint=True))


def bias(draw, x: Tensor, w: Tensor, count: int) -> Tensor:
    kind = "int64" if x.dtype == "int16" else "int32"
    reach = 20000 if x.dtype == "int16" else 2000
    return Tensor(kind, (count,), np.float32(x.scale) * np.float32(w.scale), 0, 0, draw.integers(-reach, reach, count))


def product_case(draw, op: str, dtype: str):
    """The operator's options, inputs and output of a random product."""
    per_channel = dtype != "uint8" and bool(draw.integers(2))
    n, h, w, c = (int(v) for v in draw.integers([1, 5, 6, 1], [4, 9, 10, 6]))
    kh, kw, o = (int(v) for v in draw.integers([1, 1, 1], [4, 5, 7]))
    sh, sw, same = int(draw.integers(1, 3)), int(draw.integers(1, 4)), int(draw.integers(2))
    x = activation(draw, dtype, (n, h, w, c))
    out = lambda size, kernel, stride: -(-size // stride) if same == 0 else (size - kernel) // stride + 1
    y_scale = float(draw.uniform(0.02, 0.2)) / (256 if dtype == "int16" else 1)
    shared = {"padding": same, "strideH": sh, "strideW": sw, "fusedActivationFunction": int(draw.choice([0, 1, 3]))}
    if op == "FULLY_CONNECTED":
        x = activation(draw, dtype, (n, c))
        k = weights(draw, dtype, (o, c), 0, per_channel)
        return ({"kind": "FullyConnectedOptions", "fusedActivationFunction": shared["fusedActivationFunction"]},
                [x, k, bias(draw, x, k, o)], activation(draw, dtype, (n, o), y_scale))
    if op == "TRANSPOSE_CONV":
        k = weights(draw, dtype, (o, kh, kw, c), 0, per_channel)
        size = [v * s if same == 0 else (v - 1) * s + k for v, s, k in ((h, sh, kh), (w, sw, kw))]
        to = Tensor("int32", (4,), numbers=np.array([n, *size, o]))
        shared.pop("fusedActivationFunction")
        return {"kind": "TransposeConvOptions", **shared}, [to, k, x], activation(draw, dtype, (n, *size, o), y_scale)
    shape = (n, out(h, kh, sh), out(w, kw, sw))
    if op == "CONV_2D":
        k = weights(draw, dtype, (o, kh, kw, c), 0, per_channel)
        return {"kind": "Conv2DOptions", **shared}, [x, k, bias(draw, x, k, o)], activation(draw, dtype, (*shape, o), y_scale)
    times = int(draw.integers(1, 4))
    k = weights(draw, dtype, (1, kh, kw, c * times), 3, per_channel)
    return ({"kind": "DepthwiseConv2DOptions", "depthMultiplier": times, **shared}, [x, k, bias(draw, x, k, c * times)],
            activation(draw, dtype, (*shape, c * times), y_scale))


def other_case(draw, op: str, dtype: str):
    n, h, w, c = (int(v) for v in draw.integers([1, 4, 5, 1], [4, 9, 10, 6]))
    x = activation(draw, dtype, (n, h, w, c))
    least, most = RANGES[dtype]
    like = lambda shape: Tensor(dtype, shape, x.scale, x.zero)
    fused = int(draw.choice([0, 1, 3]))
    unit = 1 / 32768 if dtype == "int16" else 1 / 256
    if op in ("ADD", "SUB", "MUL"):
        kind = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}[op]
        b = activation(draw, dtype, (n, h, w, c) if draw.integers(2) else (w, 1), numbers=bool(draw.integers(2)))
        options = {"kind": kind, "fusedActivationFunction": fused}
        if op != "MUL":
            options["potScaleInt16"] = False
        return options, [x, b], activation(draw, dtype, (n, h, w, c))
    if op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        kh, kw, sh, sw = (int(v) for v in draw.integers([1, 1, 1, 1], [4, 5, 4, 4]))
        same = int(draw.integers(2))
        out = [-(-size // s) if same == 0 else (size - k) // s + 1 for size, k, s in ((h, kh, sh), (w, kw, sw))]
        return ({"kind": "Pool2DOptions", "padding": same, "strideH": sh, "strideW": sw, "filterHeight": kh, "filterWidth": kw,
                 "fusedActivationFunction": fused}, [x], like((n, *out, c)))
    if op in ("MEAN", "SUM"):
        axes = np.array([1, 2]) if draw.integers(2) else np.array([3])
        keeps = bool(draw.integers(2))
        shape = tuple(1 if i in axes else s for i, s in enumerate(x.shape) if keeps or i not in axes)
        return ({"kind": "ReducerOptions", "keepDims": keeps}, [x, Tensor("int32", axes.shape, numbers=axes)],
                activation(draw, dtype, shape))
    if op == "SOFTMAX":
        x = activation(draw, dtype, (n, 7), float(draw.uniform(0.01, 0.3)) / (256 if dtype == "int16" else 1))
        return {"kind": "SoftmaxOptions", "beta": 1.0}, [x], Tensor(dtype, (n, 7), unit, 0 if dtype == "int16" else least)
    if op in ("LOGISTIC", "TANH"):
        x = activation(draw, dtype, x.shape, float(draw.uniform(2, 20)) / (most - least))
        low = 0 if dtype == "int16" else least if op == "LOGISTIC" else (least + most + 1) // 2
        return {}, [x], Tensor(dtype, x.shape, unit * (2 if op == "TANH" and dtype != "int16" else 1), low)
    if op == "HARD_SWISH":
        x = activation(draw, dtype, x.shape, float(draw.uniform(2, 20)) / (most - least))
        return {"kind": "HardSwishOptions"}, [x], activation(draw, dtype, x.shape, x.scale)
    if op == "LEAKY_RELU":
        return {"kind": "LeakyReluOptions", "alpha": float(draw.uniform(0.05, 0.6))}, [x], activation(draw, dtype, x.shape)
    if op == "PRELU":
        slope = activation(draw, "int8" if dtype == "int16" else dtype, (1, 1, c), numbers=True)
        return {}, [x, slope], activation(draw, dtype, x.shape)
    if op in ("RELU", "RELU6", "ELU"):
        return {}, [x], activation(draw, dtype, x.shape)
    if op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        mode = int(draw.integers(3))
        to = draw.integers(2, 12, 2)
        kind = "ResizeBilinearOptions" if op == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
        return ({"kind": kind, "alignCorners": mode == 1, "halfPixelCenters": mode == 2},
                [x, Tensor("int32", (2,), numbers=to)], like((n, *(int(v) for v in to), c)))
    if op == "PAD":
        sides = np.array([[0, 0], [1, 2], [0, 3], [0, 0]])
        return {"kind": "PadOptions"}, [x, Tensor("int32", (4, 2), numbers=sides)], like((n, h + 3, w + 3, c))
    if op == "CONCATENATION":
        b = activation(draw, dtype, (n, h, w, 2), *((None, None) if dtype == "uint8" else (x.scale, x.zero)))
        return {"kind": "ConcatenationOptions", "axis": 3}, [x, b], like((n, h, w, c + 2))
    if op == "QUANTIZE":
        to = str(draw.choice(["int8", "uint8"] if dtype != "int16" else ["int8", "int16"]))
        return {"kind": "QuantizeOptions"}, [x], activation(draw, to, x.shape)
    if op == "DEQUANTIZE":
        return {"kind": "DequantizeOptions"}, [x], Tensor("float32", x.shape)
    raise KeyError(op)


PRODUCTS = [(op, dtype) for op in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV") for dtype in RANGES]
OTHERS = [(op, dtype) for op in (
    "ADD", "SUB", "MUL", "AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "SUM", "SOFTMAX", "LOGISTIC", "TANH", "LEAKY_RELU", "PRELU",
    "RELU", "RELU6", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "PAD", "CONCATENATION", "QUANTIZE", "DEQUANTIZE", "HARD_SWISH",
    "ELU") for dtype in RANGES]


@pytest.mark.parametrize("op, dtype", PRODUCTS + OTHERS)
def test_one_operator(op, dtype, tmp_path):
    for seed in range(3):
        draw = np.random.default_rng([seed, *op.encode(), *dtype.encode()])
        options, inputs, output = (product_case if (op, dtype) in PRODUCTS else other_case)(draw, op, dtype)
        path = tmp_path / f"{seed}.tflite"
        written(path, op, options, inputs, [output])
        given = [(f"t{i}", t) for i, t in enumerate(inputs) if t.numbers is None]
        numbers = [whole(draw, t.dtype, t.shape) for _, t in given]
        try:
            # The reference kernel of SUM reads signed numbers as bytes without a sign; ELU has none.
            reference = op != "ELU" and (op != "SUM" or dtype == "uint8")
            want = answers(path, numbers, reference)
        except (RuntimeError, ValueError) as refused:
            pytest.skip(f"the interpreter has no such kernel: {str(refused).splitlines()[0][:90]}")
        got = ours(path, tmp_path, [name for name, _ in given], numbers, 1)
        assert got[0].dtype == want[0].dtype
        np.testing.assert_array_equal(got[0], want[0], err_msg=f"{op} {dtype} seed {seed}")


def compared(path, op: str, options: dict, inputs: list, outputs: list, numbers: list, reference: bool = True) -> None:
    """Bit for bit as the reference kernels answer; skipped where the interpreter has none for the types."""
    written(path, op, options, inputs, outputs)
    names = [f"t{i}" for i, t in enumerate(inputs) if t.numbers is None]
    try:
        want = answers(path, numbers, reference)
    except (RuntimeError, ValueError) as refused:
        pytest.skip(f"the interpreter has no such kernel: {str(refused).splitlines()[0][:90]}")
    got = ours(path, path.parent, names, numbers, len(outputs))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b, err_msg=f"{op} {[(t.dtype, t.scale, t.zero) for t in [*inputs, *outputs]]}")


FUNCTIONS = {"ABS": "AbsOptions", "EXP": "ExpOptions", "LOG": None, "SQRT": None, "RSQRT": None, "GELU": "GeluOptions",
             "LOGISTIC": None, "TANH": None, "LEAKY_RELU": "LeakyReluOptions", "RELU": None, "RELU6": None}  # fmt: skip


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("dtype", RANGES)
def test_a_function_of_every_number(op, dtype, tmp_path):
    least, most = RANGES[dtype]
    for seed in range(6):
        draw = np.random.default_rng([seed, *op.encode(), *dtype.encode()])
        x = activation(draw, dtype, (most - least + 1,), float(draw.uniform(0.3, 12)) / (most - least))
        y = activation(draw, dtype, x.shape, float(draw.uniform(0.3, 12)) / (most - least))
        if seed == 0:
            y.scale, y.zero = x.scale, x.zero
        if op in ("LOGISTIC", "TANH"):
            unit = 32768 if dtype == "int16" else 256 if op == "LOGISTIC" else 128
            y.scale, y.zero = 1 / unit, 0 if dtype == "int16" else least if op == "LOGISTIC" else (least + most + 1) // 2
        numbers = np.arange(least, most + 1).astype(dtype)
        if op in ("SQRT", "RSQRT"):
            numbers = np.maximum(numbers, np.dtype(dtype).type(x.zero))  # the interpreter stops at a negative number
        options = {"kind": FUNCTIONS[op]} if FUNCTIONS[op] else {}
        options |= {"approximate": bool(seed % 2)} if op == "GELU" else {"alpha": 0.2} if op == "LEAKY_RELU" else {}
        compared(tmp_path / "m.tflite", op, options, [x], [y], [numbers])


COMPARISONS = {"EQUAL": "EqualOptions", "NOT_EQUAL": "NotEqualOptions", "LESS": "LessOptions", "LESS_EQUAL": "LessEqualOptions",
               "GREATER": "GreaterOptions", "GREATER_EQUAL": "GreaterEqualOptions"}  # fmt: skip
PAIRS = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions",
         "SQUARED_DIFFERENCE": "SquaredDifferenceOptions", **COMPARISONS}  # fmt: skip


@pytest.mark.parametrize("op", PAIRS)
@pytest.mark.parametrize("dtype", RANGES)
def test_a_function_of_every_pair(op, dtype, tmp_path):
    """Of 16 bits of some pairs. The kernel that asks whether such numbers are equal leaves its answer unset."""
    if dtype == "int16" and op in ("EQUAL", "NOT_EQUAL"):
        pytest.skip("the interpreter has no such kernel")
    least, most = RANGES[dtype]
    for seed in range(4):
        draw = np.random.default_rng([seed, *op.encode(), *dtype.encode()])
        a, b = activation(draw, dtype, (256, 1)), activation(draw, dtype, (1, 256))
        if seed == 0 or (dtype == "int16" and op in COMPARISONS):
            b.scale, b.zero = a.scale, a.zero
        numbers = [np.arange(least, most + 1).astype(dtype), np.arange(least, most + 1).astype(dtype)]
        if dtype == "int16":
            numbers = [whole(draw, dtype, (256,)), whole(draw, dtype, (256,))]
            numbers[1][:64] = numbers[0][:64]
        if op == "DIV":  # the interpreter stops at a stored 0, and at what stands for 0
            refused = np.isin(numbers[1], [0, b.zero])
            numbers[1][refused] = next(v for v in (1, 2, 3) if v != b.zero)
        numbers = [numbers[0].reshape(256, 1), numbers[1].reshape(1, 256)]
        if seed % 2:  # without stretching
            numbers = [np.ascontiguousarray(x) for x in np.broadcast_arrays(*numbers)]
            a.shape = b.shape = (256, 256)
        y = activation(draw, dtype, (256, 256), float(draw.uniform(0.3, 20)) / (most - least))
        if op in COMPARISONS:
            y = Tensor("bool", (256, 256))
        compared(tmp_path / "m.tflite", op, {"kind": PAIRS[op]}, [a, b], [y], numbers)


@pytest.mark.parametrize("op", ["ADD", "SUB"])
def test_sums_of_scales_that_are_powers_of_two(op, tmp_path):
    """Converters say since long that these are summed as others are; where a file does not, they are shifted alone."""
    for seed, scales in enumerate(((-14, -15, -15), (-15, -15, -14), (-15, -14, -14), (-15, -15, -15))):
        draw = np.random.default_rng(seed)
        a, b, y = (Tensor("int16", (500,), 2.0**power) for power in scales)
        numbers = [whole(draw, "int16", (500,)) for _ in range(2)]
        compared(tmp_path / "m.tflite", op, {"kind": PAIRS[op], "potScaleInt16": False}, [a, b], [y], numbers)
    written(tmp_path / "m.tflite", op, {"kind": PAIRS[op], "potScaleInt16": True}, [a, b], [y])
    np.save(tmp_path / "x.npy", numbers[0])
    given = [word for name in ("t0", "t1") for word in ("--input", f"{name}={tmp_path / 'x.npy'}")]
    said = convoy("run", tmp_path / "m.tflite", *given, "-o", tmp_path / "y.npy", code=6).stderr
    assert "option 'pot_scale_int16' is true beside scales that are powers of two, which is not carried" in said


@pytest.mark.parametrize("op, dtype, scales, why", [
    ("LESS", "int16", (0.001, 0.002), "a comparison of 16-bit numbers of unlike scales"),
    ("EQUAL", "int16", (0.001, 0.001), "whether 16-bit numbers are equal"),
    ("GREATER", "int8", (1.0, 0.5), "a comparison of numbers whose scale is 1 or more"),
])  # fmt: skip
def test_a_comparison_that_the_interpreter_gets_wrong_is_refused(op, dtype, scales, why, tmp_path):
    a, b = Tensor(dtype, (3,), scales[0]), Tensor(dtype, (3,), scales[1])
    written(tmp_path / "m.tflite", op, {"kind": PAIRS[op]}, [a, b], [Tensor("bool", (3,))])
    np.save(tmp_path / "x.npy", np.array([5, 1, 0], dtype))
    given = [word for name in ("t0", "t1") for word in ("--input", f"{name}={tmp_path / 'x.npy'}")]
    said = convoy("run", tmp_path / "m.tflite", *given, "-o", tmp_path / "y.npy", code=6).stderr
    assert why in said


@pytest.mark.parametrize("dtype", RANGES)
def test_products_of_matrices(dtype, tmp_path):
    """Not of an `adj_x` whose other factor is stretched over it: there the interpreter reads what lies behind."""
    stretches = [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((), ()), ((3,), (1,)), ((1,), (3,)), ((4, 1), (1, 3))]
    for seed, (of_a, of_b) in enumerate(stretches):
        draw = np.random.default_rng([seed, *dtype.encode()])
        m, k, n = (int(v) for v in draw.integers(1, 50, 3))
        adj_x, adj_y = bool(seed % 2) and len(of_b) > 1, bool(draw.integers(2))
        a = activation(draw, dtype, (*of_a, k, m) if adj_x else (*of_a, m, k))
        b = activation(draw, dtype, (*of_b, n, k) if adj_y else (*of_b, k, n), numbers=seed % 3 == 2)
        spread = np.sqrt(k) * a.scale * b.scale * (RANGES[dtype][1] - RANGES[dtype][0]) * float(draw.uniform(0.1, 0.7))
        y = activation(draw, dtype, (*np.broadcast_shapes(of_a, of_b), m, n), float(spread))
        options = {"kind": "BatchMatMulOptions", "adjX": adj_x, "adjY": adj_y}
        compared(tmp_path / "m.tflite", "BATCH_MATMUL", options, [a, b], [y],
                 [whole(draw, dtype, t.shape) for t in (a, b) if t.numbers is None])


@pytest.mark.parametrize("dtype", RANGES)
def test_divided_by_the_length(dtype, tmp_path):
    for seed in range(4):
        draw = np.random.default_rng([seed, *dtype.encode()])
        n = (1, 3, 17, 40)[seed]
        x = activation(draw, dtype, (200, n))
        numbers = whole(draw, dtype, x.shape)
        numbers[:2] = x.zero
        numbers[1, 0] = max(x.zero - 1, RANGES[dtype][0])
        numbers[2:60] = np.clip(x.zero + draw.integers(-3, 4, (58, n)), *RANGES[dtype])
        numbers[60], numbers[61] = RANGES[dtype]
        y = Tensor(dtype, x.shape, 1 / 128, 128 if dtype == "uint8" else 0)
        compared(tmp_path / "m.tflite", "L2_NORMALIZATION", {"kind": "L2NormOptions"}, [x], [y], [numbers])


@pytest.mark.parametrize("dtype", RANGES)
def test_the_logarithm_of_a_softmax(dtype, tmp_path):
    for seed, n in enumerate((1, 2, 10, 300)):
        draw = np.random.default_rng([seed, *dtype.encode()])
        x = activation(draw, dtype, (64, n), float(draw.uniform(0.01, 0.2)))
        y = Tensor(dtype, x.shape, 16 / 256, 0 if dtype == "int16" else RANGES[dtype][1])
        compared(tmp_path / "m.tflite", "LOG_SOFTMAX", {"kind": "LogSoftmaxOptions"}, [x], [y], [whole(draw, dtype, x.shape)])


@pytest.mark.parametrize("dtype", RANGES)
def test_the_product_of_all_numbers(dtype, tmp_path):
    for seed, axes in enumerate(([2], [1], [0, 2], [0, 1, 2], [0])):
        draw = np.random.default_rng([seed, *dtype.encode()])
        x, keeps = activation(draw, dtype, (6, 5, 3)), bool(seed % 2)
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keeps or i not in axes)
        y = activation(draw, dtype, shape)
        options = {"kind": "ReducerOptions", "keepDims": keeps}
        compared(tmp_path / "m.tflite", "REDUCE_PROD", options, [x, Tensor("int32", (len(axes),), numbers=np.array(axes))], [y],
                 [whole(draw, dtype, x.shape)])


@pytest.mark.parametrize("dtype", RANGES)
def test_sums_of_many(dtype, tmp_path):
    for seed, axes in enumerate(([2], [1], [0, 2], [0, 1, 2], [2])):
        draw = np.random.default_rng([seed, *dtype.encode()])
        x = activation(draw, dtype, (30, 7, 5))
        shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
        spread = x.scale * np.sqrt(np.prod([x.shape[i] for i in axes])) * draw.uniform(0.3, 1.2)
        y = activation(draw, dtype, shape, float(spread))
        if seed == 4:
            y.scale, y.zero = x.scale, x.zero
        compared(tmp_path / "m.tflite", "SUM", {"kind": "ReducerOptions"}, [x, Tensor("int32", (len(axes),), numbers=np.array(axes))], [y],
                 [whole(draw, dtype, x.shape)], dtype == "uint8")


@pytest.mark.parametrize("words", [["--dequantize"], ["--quantized", "float"]])
@pytest.mark.parametrize("target", ["onnx", "tflite"])
def test_a_range_that_cuts_stays_where_nothing_is_rounded(words, target, tmp_path):
    """A ReLU6 that nothing but the steps from 0 to 6 says."""
    x = Tensor("float32", (2, 5))
    y = Tensor("uint8", (2, 5), 6 / 255, 0)
    written(tmp_path / "m.tflite", "QUANTIZE", {"kind": "QuantizeOptions"}, [x], [y])
    out = tmp_path / f"o.{target}"
    report = convoy("port", tmp_path / "m.tflite", *words, "-o", out).stdout
    assert "against the model's own kernels of whole numbers the outputs move by" in report
    numbers = np.linspace(-9, 9, 10, dtype=np.float32).reshape(2, 5)
    [answer] = ours(out, tmp_path, ["t0"], [numbers], 1)
    np.testing.assert_allclose(answer, numbers.clip(0, 6), atol=1e-5)


def whole_constant(*numbers) -> Tensor:
    return Tensor("int32", np.shape(numbers), numbers=np.array(numbers))


MOVES = {
    "REVERSE_V2": ({"kind": "ReverseV2Options"}, [whole_constant(1)], [(2, 4, 6)]),
    "TRANSPOSE": ({"kind": "TransposeOptions"}, [whole_constant(2, 0, 1)], [(6, 2, 4)]),
    "RESHAPE": ({"kind": "ReshapeOptions"}, [whole_constant(2, 4, 6)], [(2, 4, 6)]),
    "SLICE": ({"kind": "SliceOptions"}, [whole_constant(0, 1, 2), whole_constant(2, 2, 3)], [(2, 2, 3)]),
    "STRIDED_SLICE": ({"kind": "StridedSliceOptions"}, [whole_constant(0, 0, 0), whole_constant(2, 4, 6), whole_constant(1, 1, 1)], [(2, 4, 6)]),
    "TILE": ({"kind": "TileOptions"}, [whole_constant(1, 2, 1)], [(2, 8, 6)]),
    "GATHER": ({"kind": "GatherOptions", "axis": 2}, [whole_constant(3, 1)], [(2, 4, 2)]),
    "SPLIT": ({"kind": "SplitOptions", "numSplits": 2}, [Tensor("int32", (), numbers=np.array(1))], [(2, 2, 6), (2, 2, 6)]),
}


@pytest.mark.parametrize("op", MOVES)
@pytest.mark.parametrize("dtype", RANGES)
def test_bytes_are_moved_whatever_they_stand_for(op, dtype, tmp_path):
    """TensorFlow's converter gives what is reversed steps of its own, behind a tanh for instance; the kernel knows nothing of them."""
    draw = np.random.default_rng(list(dtype.encode()))
    options, rest, shapes = MOVES[op]
    x = Tensor(dtype, (2, 4, 6), 0.01, 0 if dtype == "int16" else 3)
    y = [Tensor(dtype, shape, 0.02, 0 if dtype == "int16" else 9) for shape in shapes]
    compared(tmp_path / "m.tflite", op, dict(options), [*rest, x] if op == "SPLIT" else [x, *rest], y, [whole(draw, dtype, x.shape)], op != "TILE" and op != "REVERSE_V2")


def filled_cases(dtype: str) -> dict:
    """Operators whose results have cells that no input fills, or that cut such cells off."""
    like = lambda *shape, numbers=None: Tensor(dtype, shape, 0.01, 0 if dtype == "int16" else 3, numbers=numbers)
    sides = whole_constant((0, 0), (1, 2), (0, 3), (0, 0))
    return {
        "PAD": ({"kind": "PadOptions"}, [like(2, 4, 5, 3), sides], [like(2, 7, 8, 3)]),
        "PADV2": ({"kind": "PadV2Options"}, [like(2, 4, 5, 3), sides, like(numbers=np.array(17))], [like(2, 7, 8, 3)]),
        "MIRROR_PAD": ({"kind": "MirrorPadOptions", "mode": 0}, [like(2, 4, 5, 3), sides], [like(2, 7, 8, 3)]),
        "SPACE_TO_BATCH_ND": ({"kind": "SpaceToBatchNDOptions"}, [like(2, 4, 5, 3), whole_constant(2, 3), whole_constant((1, 1), (2, 2))], [like(12, 3, 3, 3)]),
        "BATCH_TO_SPACE_ND": ({"kind": "BatchToSpaceNDOptions"}, [like(12, 3, 3, 3), whole_constant(2, 3), whole_constant((1, 1), (2, 2))], [like(2, 4, 5, 3)]),
        "MATRIX_DIAG": ({"kind": "MatrixDiagOptions"}, [like(2, 4)], [like(2, 4, 4)]),
        "MATRIX_SET_DIAG": ({"kind": "MatrixSetDiagOptions"}, [like(2, 4, 4), like(2, 4)], [like(2, 4, 4)]),
        "REVERSE_SEQUENCE": ({"kind": "ReverseSequenceOptions", "seqDim": 1, "batchDim": 0}, [like(2, 4, 3), whole_constant(2, 3)], [like(2, 4, 3)]),
    }  # fmt: skip


@pytest.mark.parametrize("op", filled_cases("int8"))
@pytest.mark.parametrize("dtype", RANGES)
def test_what_is_filled_in_stands_for_what_the_kernels_mean(op, dtype, tmp_path):
    """A pad's zero is the zero point."""
    draw = np.random.default_rng(list(dtype.encode()))
    options, inputs, outputs = filled_cases(dtype)[op]
    numbers = [whole(draw, t.dtype, t.shape) for t in inputs if t.numbers is None]
    compared(tmp_path / "m.tflite", op, options, inputs, outputs, numbers)


def test_a_choice_of_bytes_knows_no_scales_either(tmp_path):
    draw = np.random.default_rng(3)
    a, b, y = (Tensor("int16", (4, 5), scale) for scale in (0.01, 0.02, 0.03))
    choice = Tensor("bool", (4, 5))
    numbers = [draw.integers(0, 2, choice.shape).astype(bool), whole(draw, "int16", a.shape), whole(draw, "int16", b.shape)]
    compared(tmp_path / "m.tflite", "SELECT_V2", {"kind": "SelectV2Options"}, [choice, a, b], [y], numbers)


@pytest.mark.parametrize("dtype", RANGES)
def test_another_sign(dtype, tmp_path):
    """The kernel knows no scales: it is right where both are one and 0 stands for 0."""
    x = Tensor(dtype, (RANGES[dtype][1] - RANGES[dtype][0] + 1,), 0.01, 0)
    numbers = np.arange(RANGES[dtype][0], RANGES[dtype][1] + 1).astype(dtype)
    compared(tmp_path / "m.tflite", "NEG", {"kind": "NegOptions"}, [x], [x], [numbers])
    np.save(tmp_path / "x.npy", numbers)
    written(tmp_path / "m.tflite", "NEG", {"kind": "NegOptions"}, [x], [Tensor(dtype, x.shape, 0.02, 0)])
    said = convoy("run", tmp_path / "m.tflite", "--input", f"t0={tmp_path / 'x.npy'}", "-o", tmp_path / "y.npy", code=6).stderr
    assert "a negation around another point than 0, or to another scale, over quantised numbers is not run" in said


@pytest.mark.parametrize("dtype", RANGES)
def test_numbers_that_are_chosen(dtype, tmp_path):
    draw = np.random.default_rng(list(dtype.encode()))
    a = activation(draw, dtype, (4, 5, 6))
    y, b = Tensor(dtype, (4, 5, 6), a.scale, a.zero), Tensor(dtype, (1, 5, 6), a.scale, a.zero)
    choice = Tensor("bool", (4, 1, 6))
    numbers = [draw.integers(0, 2, choice.shape).astype(bool), whole(draw, dtype, a.shape), whole(draw, dtype, b.shape)]
    compared(tmp_path / "m.tflite", "SELECT_V2", {"kind": "SelectV2Options"}, [choice, a, b], [y], numbers)
    x = activation(draw, dtype, (5, 30))
    numbers = whole(draw, dtype, x.shape)
    numbers[:, ::3] = RANGES[dtype][1] - 1  # the first of equal ones is told
    count = Tensor("int32", (), numbers=np.array(4))
    best = [Tensor(dtype, (5, 4), x.scale, x.zero), Tensor("int32", (5, 4))]
    compared(tmp_path / "m.tflite", "TOPK_V2", {"kind": "TopKV2Options"}, [x, count], best, [numbers])


@pytest.mark.parametrize("op", ["SQRT", "RSQRT"])
def test_a_root_of_a_negative_number_is_refused(op, tmp_path):
    x, y = Tensor("int8", (3,), 0.1, 1), Tensor("int8", (3,), 0.1, 0)
    written(tmp_path / "m.tflite", op, {}, [x], [y])
    np.save(tmp_path / "x.npy", np.array([5, 1, 0], "int8"))
    with pytest.raises(RuntimeError, match="only defined for"):
        answers(tmp_path / "m.tflite", [np.array([5, 1, 0], "int8")])
    said = convoy("run", tmp_path / "m.tflite", "--input", f"t0={tmp_path / 'x.npy'}", "-o", tmp_path / "y.npy", code=2).stderr
    assert "root of a negative number, at which TFLite's interpreter stops" in said


@pytest.mark.parametrize("op", ["FULLY_CONNECTED", "CONV_2D"])
@pytest.mark.parametrize("dtype", RANGES)
def test_many_numbers_of_a_product(op, dtype, tmp_path):
    """Where a sum is rounded twice shows in two of a thousand."""
    draw = np.random.default_rng([7, *op.encode(), *dtype.encode()])
    rows, c, o = 240, 48, 61
    spread = {"int8": 1.5e-2, "uint8": 4e-2, "int16": 6e-5}[dtype]
    x = activation(draw, dtype, (rows, c) if op == "FULLY_CONNECTED" else (4, 12, 5, c), spread)
    k = weights(draw, dtype, (o, c) if op == "FULLY_CONNECTED" else (o, 1, 1, c), 0, dtype != "uint8")
    y = activation(draw, dtype, (rows, o) if op == "FULLY_CONNECTED" else (4, 12, 5, o), {"int8": 0.11, "uint8": 0.6, "int16": 3e-4}[dtype])
    options = ({"kind": "FullyConnectedOptions", "fusedActivationFunction": 0} if op == "FULLY_CONNECTED" else
               {"kind": "Conv2DOptions", "padding": 1, "strideH": 1, "strideW": 1, "fusedActivationFunction": 0})
    path = tmp_path / "m.tflite"
    written(path, op, options, [x, k, bias(draw, x, k, o)], [y])
    numbers = [whole(draw, dtype, x.shape)]
    want, got = answers(path, numbers)[0], ours(path, tmp_path, ["t0"], numbers, 1)[0]
    least, most = RANGES[dtype]
    assert np.mean((want > least) & (want < most)) > 0.5, "most of them are cut off"
    np.testing.assert_array_equal(got, want)


# What the interpreter has kernels for. The depthwise one of int16 takes the packed bytes for numbers, and what lies behind them.
FOUR_BITS = [(op, dtype) for op in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED") for dtype in ("float32", "int8", "int16")]
FOUR_BITS.remove(("DEPTHWISE_CONV_2D", "int16"))


@pytest.mark.parametrize("op, inputs_are", [*FOUR_BITS, ("DEQUANTIZE", "int8")])
def test_weights_of_four_bits(op, inputs_are, tmp_path):
    ran = 0
    for seed in range(6):
        draw = np.random.default_rng([seed, *op.encode(), *inputs_are.encode()])
        if op == "DEQUANTIZE":
            options, inputs, output = other_case(draw, op, "int8")
            inputs[0].zero = 0
            packed = inputs[0]
        else:
            options, inputs, output = product_case(draw, op, "int16" if inputs_are == "int16" else "int8")
            packed = inputs[1]
        packed.dtype, packed.numbers = "int4", draw.integers(-7, 8, packed.shape)
        if inputs_are == "float32":
            for tensor in [inputs[0], *inputs[2:], output]:
                tensor.scale, tensor.dtype = None, "int4" if tensor is packed else "float32"
            packed.scale = packed.scale if packed.scale is not None else 0.25
            if len(inputs) > 2:
                inputs[2].numbers = draw.normal(size=inputs[2].shape)
        path = tmp_path / f"{seed}.tflite"
        written(path, op, options, inputs, [output])
        given = [(f"t{i}", t) for i, t in enumerate(inputs) if t.numbers is None]
        numbers = [draw.normal(size=t.shape).astype("f4") if t.dtype == "float32" else whole(draw, t.dtype, t.shape) for _, t in given]
        try:
            want = answers(path, numbers)
        except (RuntimeError, ValueError):
            continue
        ran += 1
        got = ours(path, tmp_path, [name for name, _ in given], numbers, 1)
        assert got[0].dtype == want[0].dtype
        if inputs_are == "float32":
            np.testing.assert_allclose(got[0], want[0], 1e-5, 1e-5 * np.abs(want[0]).max())
        else:
            np.testing.assert_array_equal(got[0], want[0])
    if ran == 0:
        pytest.skip("the interpreter has no such kernel")


def test_weights_of_four_bits_that_end_early_are_a_broken_file(tmp_path):
    draw = np.random.default_rng(0)
    options, inputs, output = product_case(draw, "FULLY_CONNECTED", "int8")
    inputs[1].dtype, inputs[1].numbers = "int4", draw.integers(-7, 8, 1)
    inputs[1].shape = (3, 2)
    written(tmp_path / "m.tflite", "FULLY_CONNECTED", options, inputs, [output])
    assert "of INT4 and" in convoy("port", tmp_path / "m.tflite", "-o", tmp_path / "m.onnx", "--dequantize", code=5).stderr


# Without a bias there is only the option to say in how many bits sums are held, and so how they are rounded.
def test_a_transposed_convolution_that_sums_in_32_bits(tmp_path):
    apart = 0
    for seed in range(4):
        for bits in ("int64", "int32"):
            draw = np.random.default_rng(seed)
            options, inputs, output = product_case(draw, "TRANSPOSE_CONV", "int16")
            written(tmp_path / "m.tflite", "TRANSPOSE_CONV", options | {"quantizedBiasType": CODES[bits]}, inputs, [output])
            x = whole(draw, "int16", inputs[2].shape)
            want = answers(tmp_path / "m.tflite", [x])[0]
            np.testing.assert_array_equal(ours(tmp_path / "m.tflite", tmp_path, ["t2"], [x], 1)[0], want)
            other = want if bits == "int64" else other
            apart += int((want != other).sum())
    assert apart > 0


@pytest.mark.parametrize("name", QUANTISED)
def test_model_of_the_corpus(name, tmp_path):
    case = json.loads((CORPUS / name / "case.json").read_text())
    names = [row["name"] for row in case["inputs"]]
    first = [np.load(CORPUS / name / f"input_{i}.npy") for i in range(len(names))]
    draw = np.random.default_rng(7)
    for inputs in (first, [draw.normal(size=x.shape).astype(x.dtype) * 2 for x in first]):
        want = answers(CORPUS / name / "model.tflite", inputs)
        got = ours(CORPUS / name / "model.tflite", tmp_path, input_names(CORPUS / name / "model.tflite"), inputs, len(want))
        for a, b in zip(got, want, strict=True):
            if case["mode"] in ("dynamic", "float16"):  # real numbers between the products: their order of rounding is not told
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
            else:
                np.testing.assert_array_equal(a, b)


def input_names(path) -> list:
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(model_path=str(path))
    signature = next(iter(interpreter.get_signature_list().values()))
    return signature["inputs"]
