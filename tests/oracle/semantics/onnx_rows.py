"""What ONNX Runtime does at the edges, its optimizer off: one node a row, as the bytes of its model."""
import base64

import numpy as np
import onnx
import onnxruntime
from edges import (BYTE_ROWS, BYTES, F32, FAR, FINITE, INF, LEFT, NAN, ODD, ODD_ROWS, PLAIN_ROWS, RIGHT, SPECIAL, TIES, TRUTH,
                   TRUTH_ROWS, WHOLE, WHOLE_FAR, WHOLE_LEFT, WHOLE_RIGHT, WHOLE_ROWS, grid)
from onnx import TensorProto, helper, numpy_helper

FLOATS = {"finite": FINITE, "far": FAR, "special": SPECIAL}
WHOLES = {"int32": WHOLE, "int32_far": WHOLE_FAR, "int64": WHOLE.astype(np.int64), "uint8": BYTES}
ROWS = {"ties": TIES, "odd": ODD_ROWS, "plain": PLAIN_ROWS}
WHOLE_ROWS_BY = {"int32": WHOLE_ROWS, "int64": WHOLE_ROWS.astype(np.int64), "uint8": BYTE_ROWS}

NONE = {}
EXACT = [(op, NONE, []) for op in "Abs Neg Sign Floor Ceil Round Relu IsNaN IsInf Identity".split()] + [
    ("IsInf", {"detect_negative": 0}, []), ("IsInf", {"detect_positive": 0}, []), ("LeakyRelu", {"alpha": 0.25}, []), ("LeakyRelu", {"alpha": -0.5}, []),
    ("LeakyRelu", {"alpha": 2.0}, []), ("LeakyRelu", {"alpha": 0.0}, []), ("ThresholdedRelu", {"alpha": 1.0}, []), ("ThresholdedRelu", {"alpha": -1.5}, []),
    ("ThresholdedRelu", {"alpha": 0.0}, []), ("Shrink", {"lambd": 0.5}, []), ("Shrink", {"lambd": 1.5, "bias": 1.5}, []), ("Shrink", {"lambd": 0.5, "bias": 0.25}, []),
    ("Shrink", {"lambd": -0.5}, []), ("PRelu", NONE, [F32([0.25])]), ("PRelu", NONE, [F32([-0.5])]), ("PRelu", NONE, [F32([0.0])]), ("HardSigmoid", {"alpha": 0.25, "beta": 0.5}, []),
    ("HardSigmoid", {"alpha": -0.25, "beta": 0.5}, []), ("HardSigmoid", {"alpha": 0.0, "beta": 2.0}, []),
    *[("Clip", NONE, bounds) for bounds in ([F32(0.5), F32(-0.5)], [F32(-0.5), F32(0.5)], [F32(3), F32(2)], [F32(0), F32(-1)], [F32(0), F32(6)], [F32(1), F32(1)],
                                             [F32(-1), F32(1)], [F32(1), F32(-1)], [F32(0.5)], [None, F32(-0.5)], [F32(-0.0)], [F32(0), F32(1)], [None, F32(0)])],
    *[(op, NONE, [F32(c)]) for op in ("Max", "Min", "Add", "Mul", "Div", "Sub") for c in (0, -1, 0.75, NAN)],
    *[("Mod", {"fmod": 1}, [F32(c)]) for c in (3, -3, 0.75, 0)], *[(op, NONE, [F32(0.5)]) for op in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal")],
    ("Cast", {"to": TensorProto.BOOL}, []), ("Max", NONE, [F32(0), F32(1)]), ("Sum", NONE, [F32(0), F32(1)]), ("Mean", NONE, [F32(0)]), ("Min", NONE, []), ("Dropout", NONE, []),
    ("Elu", {"alpha": 0.0}, []), ("Hardmax@4", NONE, [])]
NEAR = [(op, NONE, []) for op in """Exp Log Sqrt Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf Sigmoid Tanh Elu Selu Celu Gelu Softplus Softsign HardSigmoid HardSwish
    Mish""".split()] + [("Elu", {"alpha": 0.5}, []), ("Elu", {"alpha": -1.0}, []), ("Celu", {"alpha": 2.0}, []), ("Celu", {"alpha": -1.5}, []), ("Selu", {"alpha": 2.0, "gamma": 3.0}, []),
    ("Selu", {"alpha": -1.0, "gamma": 2.0}, []), ("Gelu", {"approximate": "tanh"}, []), *[("Pow", NONE, [F32(c)]) for c in (2, 3, 0.5, -1, 0, 1.5, -0.5, 1, 1 / 3)],
    ("Pow", NONE, [np.int64(2)]), ("Pow", NONE, [np.int64(-1)]), ("Pow@r", NONE, [F32(2)]), ("Pow@r", NONE, [F32(-2)]), ("Pow@r", NONE, [F32(0)]), ("Div@r", NONE, [F32(1)])]
WHOLE_TOO = [(op, NONE, []) for op in "Abs Neg Sign Relu Identity".split()] + [(op, NONE, [c]) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less", "Greater") for c in (3, -2)] + [
    ("Mod", NONE, [3]), ("Mod", NONE, [-3]), ("Mod", {"fmod": 1}, [3]), ("Mod", {"fmod": 1}, [-3]), ("Clip", NONE, [3, -2]), ("Clip", NONE, [-2, 3]), ("Clip", NONE, [1]),
    ("Pow", NONE, [2]), ("Pow", NONE, [F32(0.5)]), ("Pow", NONE, [F32(2)]), ("Pow", NONE, [F32(-1)]), *[("Cast", {"to": t}, []) for t in (1, 2, 3, 5, 6, 7, 9)]]
PAIRS = [(op, NONE) for op in "Add Sub Mul Div Max Min Equal Less LessOrEqual Greater GreaterOrEqual Mod PRelu Mean Sum".split()] + [("Mod", {"fmod": 1})]
FOLDS = [(f"Reduce{op}", {"keepdims": k}) for op in "Sum Mean Prod Max Min L1 SumSquare".split() for k in (0, 1)] + [
    *[(op, {"axis": 1, "keepdims": 0, "select_last_index": last}) for op in ("ArgMax", "ArgMin") for last in (0, 1)], ("ArgMax", {"axis": -1}), ("ArgMin", {"axis": 0}),
    *[("TopK", {"axis": 1, "largest": big, "k": k}) for big in (0, 1) for k in (2, 4)], *[("CumSum", {"exclusive": e, "reverse": r}) for e in (0, 1) for r in (0, 1)], ("Hardmax", {"axis": 1})]
NEAR_FOLDS = [("Softmax", {"axis": 1}), ("LogSoftmax", {"axis": 1}), ("Softmax", {"axis": 0}), ("ReduceLogSumExp", {"keepdims": 0}), ("ReduceLogSum", {"keepdims": 0}), ("ReduceL2", {"keepdims": 0}),
              ("LpNormalization", {"axis": 1, "p": 2}), ("LpNormalization", {"axis": 1, "p": 1}), ("LayerNormalization", {"axis": 1}), ("MeanVarianceNormalization", {"axes": [1]})]

image = F32([[3, NAN, 1, 2, 0], [1, 5, 5, -1, 4], [-INF, 2, 7, 7, -3], [INF, -2, 0, -0.0, 9], [1, 1, -9, 6, 6]])[None, None]
plain = F32([[3, -8, 1, 2, 0], [1, 5, 5, -1, 4], [-4, 2, 7, 7, -3], [-6, -2, 0, -0.0, 9], [1, 1, -9, 6, 6]])[None, None]
low = np.full((1, 1, 5, 5), -INF, np.float32)
IMAGES = {"odd": image, "plain": plain, "negative": plain - 20, "lowest": low}
WINDOW = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
TWO = {"kernel_shape": [2, 2], "strides": [2, 2]}
ON_IMAGES = [(op, attrs, [], exact) for op, exact in (("MaxPool", 1), ("MaxPool 2", 1), ("AveragePool", 0), ("LpPool", 0)) for attrs in (WINDOW, TWO, {**TWO, "ceil_mode": 1})] + [
    ("MaxPool", {**TWO, "auto_pad": "SAME_UPPER"}, [], 1), ("MaxPool", {**TWO, "auto_pad": "SAME_LOWER"}, [], 1), ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 2]}, [], 1),
    ("MaxPool 2", {**TWO, "storage_order": 1}, [], 1), ("AveragePool", {**WINDOW, "count_include_pad": 1}, [], 0), ("AveragePool", {**TWO, "auto_pad": "SAME_UPPER"}, [], 0),
    ("GlobalMaxPool", {}, [], 1), ("GlobalAveragePool", {}, [], 0), ("GlobalLpPool", {"p": 2}, [], 0), *[("Resize", {"mode": m}, [None, F32([1, 1, 0.6, 1.4])], e) for m, e in (("nearest", 1), ("linear", 0))],
    *[("Resize", {"mode": "nearest", "nearest_mode": n, "coordinate_transformation_mode": c}, [None, F32([1, 1, 0.5, 1.5])], 1)
      for n in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil") for c in ("asymmetric", "half_pixel", "align_corners")],
    *[("Pad", {"mode": m}, [np.int64([0, 0, 1, 2, 0, 0, 0, 1])], 1) for m in ("constant", "reflect", "edge", "wrap")], ("Pad", {}, [np.int64([0, 0, -1, 2, 0, 0, 0, -1]), F32(NAN)], 1),
    ("InstanceNormalization", {}, [F32([1]), F32([0])], 0), ("LRN", {"size": 3}, [], 0), ("Slice", {}, [np.int64([-1]), np.int64([-100]), np.int64([3]), np.int64([-2])], 1),
    ("Slice", {}, [np.int64([1]), np.int64([2147483647]), np.int64([2])], 1), ("Slice", {}, [np.int64([3]), np.int64([1]), np.int64([2])], 1), ("ReduceMax", {"keepdims": 0}, [np.int64([2, 3])], 1),
    ("SpaceToDepth", {"blocksize": 1}, [], 1), ("Flatten", {}, [], 1)]

pick = F32([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, NAN]])
empty = np.zeros((2, 0), np.float32)
I64, I32 = np.int64, np.int32
# op, attributes, inputs that are given, constants behind them, is it exact
OTHERS = [
    ("Gather", {}, [pick], [I64([3, 0, -1])], 1), ("Gather", {"axis": 1}, [pick], [I64([-1, -3])], 1), ("Gather", {}, [pick, I64([0, -1, -4, 3])], [], 1), ("Gather", {}, [pick, I64([0, 4])], [], 1),
    ("Gather", {}, [pick, I64([-5])], [], 1), ("GatherElements", {"axis": 1}, [pick, I64([[0, 2], [1, 1], [-1, -3], [0, 0]])], [], 1), ("GatherElements", {"axis": 1}, [pick, I64([[3], [0], [0], [0]])], [], 1),
    ("GatherND", {}, [pick, I64([[0, 1], [-1, -1]])], [], 1), ("GatherND", {}, [pick], [I64([[3, 0], [0, 2]])], 1), ("OneHot", {}, [I64([0, 3, -1, -4, 4, -5])], [I64(4), F32([0, 1])], 1), ("OneHot", {"axis": 0}, [I64([0, 3])], [I64(4), F32([-0.0, NAN])], 1),
    ("ScatterND", {}, [pick], [I64([[0], [-1]]), F32([[1, 1, 1], [2, 2, 2]])], 1), ("ScatterElements", {"axis": 1}, [pick], [I64([[0], [-1], [1], [2]]), F32([[9], [8], [7], [6]])], 1),
    ("Where", {}, [np.array([True, False, True]), F32([NAN, 1, -0.0]), F32([1, INF, NAN])], [], 1), ("Where", {}, [np.array([True, False]), I64([1 << 40, 2]), I64([3, -(1 << 40)])], [], 1),
    *[(op, {}, [np.array([True, False, True, False]), np.array([True, True, False, False])], [], 1) for op in ("And", "Or", "Xor", "Equal")], ("Not", {}, [TRUTH], [], 1),
    ("MatMul", {}, [F32([[INF, 1], [0, 2]]), F32([[0, 1], [1, NAN]])], [], 0), ("MatMul", {}, [I32([[65536, 3], [-7, 2]]), I32([[65536, 1], [5, -1]])], [], 1), ("Gemm", {"alpha": 0.0}, [F32([[INF]]), F32([[1]])], [F32([2])], 1),
    ("Gemm", {"beta": 0.0}, [F32([[2]]), F32([[1]])], [F32([NAN])], 1), *[("Cast", {"to": t}, [F32([0.5, -0.5, 1.5, -1.5, 2.9, -2.9, 100, -100])], [], 1) for t in (3, 5, 6, 7)], ("Cast", {"to": 2}, [F32([0, 0.5, 1.9, 254.9, 255])], [], 1),
    ("Cast", {"to": 9}, [SPECIAL], [], 1), ("Cast", {"to": 1}, [TRUTH], [], 1), ("Cast", {"to": 6}, [TRUTH], [], 1), *[("Cast", {"to": t}, [I32([-129, 128, 255, 256, 65536, -1])], [], 1) for t in (2, 3, 4, 5)],
    ("Cast", {"to": 1}, [I64([(1 << 53) + 1, -(1 << 40), 16777217])], [], 1), ("Add", {}, [BYTES, BYTES[::-1].copy()], [], 1), ("Sub", {}, [BYTES, BYTES[::-1].copy()], [], 1), ("Mul", {}, [BYTES, BYTES[::-1].copy()], [], 1),
    ("Mul", {}, [I64([1 << 32, -3, 1 << 62]), I64([1 << 32, 1 << 40, 2])], [], 1), ("Add", {}, [I64([(1 << 53) + 1, (1 << 63) - 1]), I64([1, 1])], [], 1), ("Div", {}, [I64([(1 << 60) + 1, -7]), I64([1, 2])], [], 1),
    ("Mul", {}, [I32([65536, 46341, -2147483648]), I32([65536, 46341, -1])], [], 1), ("Abs", {}, [I32([-2147483648])], [], 1), ("Mod", {}, [I64([-7, 7, -8, 8]), I64([3, -3, 3, -3])], [], 1),
    ("Max", {}, [I64([1 << 60, 3]), I64([(1 << 60) + 1, -3])], [], 1), ("ReduceSum", {"keepdims": 0}, [I32([[2147483647, 1]])], [I64([1])], 1), ("ReduceProd", {"keepdims": 0}, [I32([[65536, 65536]])], [I64([1])], 1),
    ("ReduceMean", {"keepdims": 0}, [I32([[1, 2], [-1, -2]])], [I64([1])], 1), ("ReduceMean", {"keepdims": 0}, [I64([[1, 2], [-1, -2]])], [I64([1])], 1), ("CumSum", {}, [I32([2147483647, 1, 5])], [I64(0)], 1),
    *[(op, {"keepdims": k}, [empty], [I64([1])], 1) for op in ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceLogSumExp") for k in (0, 1)],
    *[(op, {"noop_with_empty_axes": n}, [F32([[1, -2], [3, 4]])], [], 1) for op in ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceSumSquare", "ReduceL1") for n in (0, 1)], ("ReduceSum", {"noop_with_empty_axes": 1}, [F32([[1, -2], [3, 4]])], [I64([])], 1),
    ("ArgMax", {"axis": 1}, [empty], [], 1), ("Relu", {}, [empty], [], 1), ("Softmax", {"axis": 1}, [empty], [], 1), ("Concat", {"axis": 1}, [empty, F32([[1], [2]])], [], 1),
    ("BatchNormalization", {}, [F32([[1, 0], [-1, NAN]])], [F32([1, 1]), F32([0, 0]), F32([0, 0]), F32([0, 0])], 0), ("BatchNormalization", {"epsilon": 0.0}, [F32([[1, 0], [-1, INF]])], [F32([1, 2]), F32([0, 0]), F32([0, 1]), F32([1, 4])], 0),
    ("GroupNormalization", {"num_groups": 1}, [F32([[[1, NAN, 1], [1, 2, 3]]])], [F32([1, 1]), F32([0, 0])], 0), ("Trilu", {}, [ODD_ROWS[:4]], [], 1), ("Trilu", {"upper": 0}, [ODD_ROWS[:4]], [I64(1)], 1),
    ("Expand", {}, [F32([[NAN], [-0.0]])], [I64([2, 3])], 1), ("Tile", {}, [F32([NAN, -0.0])], [I64([2])], 1), ("Range", {}, [F32(0), F32(1), F32(0.3)], [], 1), ("Reshape", {}, [F32([[1, 2], [3, 4]])], [I64([0, -1])], 1),
    ("Reshape", {"allowzero": 1}, [empty], [I64([0, 2])], 1), ("Split", {"num_outputs": 2}, [F32([1, 2, 3])], [], 1), ("Unsqueeze", {}, [F32([1])], [I64([-1])], 1), ("Transpose", {}, [pick], [], 1), ("DepthToSpace", {"blocksize": 1}, [plain], [], 1),
    ("Einsum", {"equation": "ij,jk->ik"}, [F32([[INF, 1]]), F32([[0], [1]])], [], 0), ("Round", {}, [F32([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 8388607.5, 4503599627370497.5])], [], 1), ("Sign", {}, [F32([NAN, -0.0, INF])], [], 1),
    ("Pow", {}, [I32([-2, 3, 0, 2]), I32([3, 2, 0, 30])], [], 1), ("Pow", {}, [I64([-2, 3, 2]), F32([3, 0.5, -1])], [], 1), ("Pow", {}, [F32([-8, -8, 0, NAN]), F32([2, 1 / 3, 0, 0])], [], 0), ("BitShift", {"direction": "LEFT"}, [np.uint8([255, 1]), np.uint8([1, 9])], [], 1),
    ("BitwiseAnd", {}, [I32([6, -1]), I32([3, 5])], [], 1), ("Clip", {}, [I64([1 << 40, -5, 3])], [I64(0), I64(1 << 39)], 1), ("Clip", {}, [BYTES], [np.uint8(10), np.uint8(5)], 1), ("ConstantOfShape", {}, [I64([2])], [], 1), ("Shape", {}, [empty], [], 1), ("NonZero", {}, [F32([0, -0.0, NAN, 2])], [], 1),
]


def rows():
    for exact, table in ((1, EXACT), (0, NEAR)):
        for op, attrs, constants in table:
            for name, x in FLOATS.items():
                op, _, shape = op.partition("@")
                if shape == "4":
                    x = x[:16].reshape(4, -1) if len(x) >= 16 else x[:4].reshape(2, 2)
                elif op == "PRelu":
                    x = x[None]
                call = (op, attrs, "r" if shape == "r" else "", constants)
                yield f"{text_of(op, attrs, constants)}{' reversed' if shape == 'r' else ''} {name}", call, [x], exact
                op = f"{op}@{shape}" if shape else op
    for op, attrs, constants in WHOLE_TOO:
        for name, x in WHOLES.items():
            if name == "uint8" and any(np.asarray(c) < 0 for c in constants):
                continue
            typed = [c if isinstance(c, np.ndarray) or isinstance(c, np.float32) else x.dtype.type(c) for c in constants]
            yield f"{text_of(op, attrs, typed)} {name}", (op, attrs, "", typed), [x], 0 if op == "Pow" else 1
    pairs = {"finite": grid(LEFT, RIGHT), "special": grid(ODD, ODD), "int32": grid(WHOLE_LEFT, WHOLE_RIGHT), "int64": grid(WHOLE_LEFT.astype(np.int64), WHOLE_RIGHT.astype(np.int64)), "uint8": grid(BYTES[3:], BYTES[1:])}
    for op, attrs in PAIRS:
        for name, both in pairs.items():
            yield f"{text_of(op, attrs, [])} of two {name}", (op, attrs, "", []), list(both), 1
    for name in ("finite", "special"):
        yield f"Pow of two {name}", ("Pow", {}, "", []), list(pairs[name]), 0
    for exact, table in ((1, FOLDS), (0, NEAR_FOLDS)):
        for op, attrs in table:
            for name, x in (ROWS | (WHOLE_ROWS_BY if exact else {})).items():
                attrs = dict(attrs)
                constants = [np.int64([1])] if op.startswith("Reduce") else [np.int64(1)] if op == "CumSum" else []
                shown = dict(attrs)
                if op == "TopK":
                    constants = [np.int64([shown.pop("k")])]
                if op == "LayerNormalization":
                    constants = [np.ones(4, np.float32)]
                yield f"{text_of(op, attrs, [])} {name}", (op, shown, "", constants), [x], 0 if "Mean" in op else exact
    for op, attrs, constants, exact in ON_IMAGES:
        for name, x in IMAGES.items():
            yield f"{text_of(op, attrs, constants)} {name}", (op, attrs, "", constants), [x], exact
    for op, attrs, inputs, constants, exact in OTHERS:
        yield f"{text_of(op, attrs, constants)} of {[i.tolist() for i in inputs]}"[:140], (op, attrs, "", constants), inputs, exact


def text_of(op, attrs, constants):
    said = [f"{k}={v}" for k, v in attrs.items()] + [str(np.asarray(c).tolist()) for c in constants if c is not None]
    return op + (f"({', '.join(said)})" if said else "")


OUTPUTS = {"TopK": 2, "Split": 2, "MaxPool 2": 2}


def build(call, inputs):
    op, attrs, order, constants = call
    names = [f"x{i}" for i in range(len(inputs))]
    held = {f"c{i}": numpy_helper.from_array(np.asarray(c), f"c{i}") for i, c in enumerate(constants) if c is not None}
    behind = [f"c{i}" if c is not None else "" for i, c in enumerate(constants)]
    outputs = [f"y{i}" for i in range(OUTPUTS.get(op, 1))]
    node = helper.make_node(op.split()[0], behind + names if order == "r" else names + behind, outputs, **attrs)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, inputs)],
                              [onnx.ValueInfoProto(name=y) for y in outputs], list(held.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    return base64.b64encode(model.SerializeToString()).decode(), [np.asarray(x) for x in inputs]


def answer(text, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(base64.b64decode(text), options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})


def framework():
    return f"onnxruntime {onnxruntime.__version__} (ORT_DISABLE_ALL)"
