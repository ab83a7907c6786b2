"""What ONNX Runtime, its optimizer off, answers of operators that we put together of others: one node a row. Sizes are unlike
on every axis."""
import base64

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx_rows import answer, framework  # noqa: F401  asked by record.py

F32, I64, U8, I8, I32 = np.float32, np.int64, np.uint8, np.int8, np.int32
random = np.random.default_rng(11)


def some(*shape):
    return (random.integers(-40, 41, shape) / 8).astype(np.float32)


def whole(dtype, least, most, *shape):
    return random.integers(least, most, shape).astype(dtype)


def waves(*shape):
    return np.sin(np.arange(np.prod(shape)) * 0.37).astype(np.float32).reshape(shape)


q, k, v = some(2, 3, 12), some(2, 5, 12), some(2, 5, 9)
grouped = some(2, 4, 3, 6), some(2, 2, 5, 6), some(2, 2, 5, 7)
logits, classes = some(3, 5, 2, 4), whole(I64, 0, 5, 3, 2, 4)
bytes_x, bytes_w = whole(U8, 0, 255, 1, 2, 6, 5), whole(I8, -128, 128, 3, 2, 3, 2)
image, sequence = some(2, 3, 8, 7), some(5, 3, 2)


def body(nodes, inputs, outputs, weights=None):
    info = {name: helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (*inputs, *outputs)}
    held = [numpy_helper.from_array(w, name) for name, w in (weights or {}).items()]
    return helper.make_graph(nodes, "body", [info[i[0]] for i in inputs], [info[o[0]] for o in outputs], held)


N, B, F = onnx.TensorProto.INT64, onnx.TensorProto.BOOL, onnx.TensorProto.FLOAT
step = [helper.make_node("MatMul", ["before", "w"], ["wide"]), helper.make_node("Add", ["wide", "seen"], ["sum"]), helper.make_node("Tanh", ["sum"], ["after"])]
recurrent = body([helper.make_node("Gather", ["x0", "turn"], ["seen"], axis=1), *step, helper.make_node("Identity", ["on"], ["goes"]), helper.make_node("Identity", ["after"], ["told"])],
                 [("turn", N, []), ("on", B, []), ("before", F, [2, 3])], [("goes", B, []), ("after", F, [2, 3]), ("told", F, [2, 3])], {"w": some(3, 3) / 4})
along = body([*step, helper.make_node("Identity", ["after"], ["told"])], [("before", F, [2, 3]), ("seen", F, [2, 3])], [("after", F, [2, 3]), ("told", F, [2, 3])], {"w": some(3, 3) / 4})
# name, operator, attributes, inputs (a pair of a word and an array: known beforehand), results, exact, opset
ROWS = [
    ("flat heads", "Attention", {"q_num_heads": 3, "kv_num_heads": 3}, [q, k, v], 1, 0, 23),
    ("causal", "Attention", {"q_num_heads": 3, "kv_num_heads": 3, "is_causal": 1}, [q, k, v], 1, 0, 23),
    ("grouped", "Attention", {"scale": 0.3, "softcap": 2.0}, list(grouped), 1, 0, 23),
    ("added mask", "Attention", {}, [*grouped, some(3, 5)], 1, 0, 23),
    ("mask of truths", "Attention", {}, [*grouped, whole(bool, 0, 2, 2, 1, 3, 5)], 1, 0, 23),
    ("past", "Attention", {"is_causal": 1}, [*grouped, None, some(2, 2, 4, 6), some(2, 2, 4, 7)], 3, 0, 23),
    ("halves", "RotaryEmbedding", {}, [some(2, 3, 4, 6), ("c", waves(4, 3)), ("s", waves(4, 3)[::-1].copy()), np.tile(I64([0, 3, 1, 2]), (2, 1))], 1, 0, 23),
    ("pairs", "RotaryEmbedding", {"interleaved": 1, "num_heads": 3}, [some(2, 4, 18), waves(2, 4, 3), waves(2, 4, 3)[::-1].copy()], 1, 0, 23),
    ("part of a head", "RotaryEmbedding", {"rotary_embedding_dim": 4}, [some(2, 3, 4, 6), waves(2, 4, 2), waves(2, 4, 2)[::-1].copy()], 1, 0, 23),
    *[(f"p {p}", "LpNormalization", {"axis": axis, "p": p}, [image], 1, 0, 22) for p in (1, 2) for axis in (1, -1)],
    ("zeros", "LpNormalization", {"axis": 1}, [F32([[0, 0, 0], [3, 0, 4]])], 1, 0, 22),
    *[(r, "NegativeLogLikelihoodLoss", {"reduction": r}, [logits, classes, ("weight", F32([1, 2, 0.5, 3, 1.5]))], 1, 0, 22) for r in ("none", "sum", "mean")],
    ("some ignored", "NegativeLogLikelihoodLoss", {"ignore_index": 2}, [logits, classes], 1, 0, 22),
    *[(r, "SoftmaxCrossEntropyLoss", {"reduction": r}, [logits, classes], 1, 0, 22) for r in ("none", "sum", "mean")],
    ("of each cell", "QuantizeLinear", {}, [image, ("s", F32(0.03125)), ("z", U8(120))], 1, 1, 21),
    ("of each channel", "QuantizeLinear", {"axis": 1}, [image, ("s", F32([0.25, 0.0625, 0.5])), ("z", I8([3, -5, 0]))], 1, 1, 21),
    ("of each channel", "DequantizeLinear", {"axis": 1}, [whole(I8, -128, 128, 2, 3, 4), ("s", F32([0.25, 0.0625, 0.5])), ("z", I8([3, -5, 0]))], 1, 1, 21),
    ("blocks", "DequantizeLinear", {"axis": 1, "block_size": 2}, [whole(U8, 0, 255, 3, 6), ("s", F32([[0.5, 1, 2], [0.25, 4, 1], [1, 8, 0.125]])), ("z", whole(U8, 0, 9, 3, 3))], 1, 1, 21),
    ("numbers of both signs", "DynamicQuantizeLinear", {}, [F32([[-1.5, 0, 2.25], [0.5, 3.6, -0.1]])], 3, 1, 21),
    ("padded", "ConvInteger", {"pads": [1, 0, 1, 2], "strides": [2, 1]}, [bytes_x, ("w", bytes_w.astype(U8)), ("xz", U8(120)), ("wz", U8(9))], 1, 1, 21),
    ("two zeros", "MatMulInteger", {}, [whole(U8, 0, 255, 3, 4), ("b", whole(U8, 0, 255, 4, 5)), ("az", U8(7)), ("bz", U8(200))], 1, 1, 21),
    ("padded", "QLinearConv", {"pads": [1, 0, 1, 2]}, [bytes_x, ("xs", F32(0.03)), ("xz", U8(120)), ("w", bytes_w), ("ws", F32([0.005, 0.01, 0.02])), ("wz", I8([0, 0, 0])), ("ys", F32(0.25)), ("yz", U8(110)), ("b", I32([-1857, 501, 1356]))], 1, 1, 21),
    ("rows and columns", "QLinearMatMul", {}, [whole(U8, 0, 255, 3, 4), ("as", F32(0.0066)), ("az", U8(113)), ("b", whole(U8, 0, 255, 4, 5)), ("bs", F32(0.00705)), ("bz", U8(114)), ("ys", F32(0.0107)), ("yz", U8(118))], 1, 1, 21),
    *[(f"along {axis}", "DFT", {}, [some(2, 6, 5, 2).astype(np.float64), None, ("axis", I64(axis))], 1, 0, 20) for axis in (1, 2, -2)],
    ("longer", "DFT", {}, [some(2, 6, 2), ("length", I64(8)), ("axis", I64(1))], 1, 0, 20), ("back", "DFT", {"inverse": 1}, [some(2, 6, 3, 2), None, ("axis", I64(1))], 1, 0, 20),
    ("windowed", "STFT", {}, [waves(2, 20, 1), ("step", I64(3)), ("window", F32([0.1, 0.5, 1, 0.75, 0.3, 0.2])), ("length", I64(6))], 1, 0, 17),
    ("both sides", "STFT", {"onesided": 0}, [waves(2, 17, 1), ("step", I64(4)), None, ("length", I64(5))], 1, 0, 17),
    ("strided", "Col2Im", {"strides": [2, 1], "pads": [1, 0, 1, 0]}, [some(2, 12, 9), ("image", I64([5, 4])), ("block", I64([2, 2]))], 1, 0, 18),
    ("corners", "AffineGrid", {"align_corners": 1}, [some(2, 2, 3), ("size", I64([2, 1, 3, 4]))], 1, 0, 20), ("cells", "AffineGrid", {}, [some(2, 3, 4), ("size", I64([2, 1, 2, 3, 4]))], 1, 0, 20),
    ("along 1", "Compress", {"axis": 1}, [image, ("which", np.array([True, False, True]))], 1, 1, 22), ("of all", "Compress", {}, [F32([[1, 2], [3, 4], [5, 6]]), ("which", np.array([False, True, False, False, True]))], 1, 1, 22),
    ("of unlike length", "ReverseSequence", {}, [sequence, ("lengths", I64([4, 1, 5]))], 1, 1, 22), ("batch first", "ReverseSequence", {"batch_axis": 0, "time_axis": 1}, [sequence, ("lengths", I64([2, 3, 1, 2, 3]))], 1, 1, 22),
    ("of one length", "ReverseSequence", {}, [sequence, ("lengths", I64([5, 5, 5]))], 1, 1, 22), ("cut and padded", "CenterCropPad", {"axes": [2, 3]}, [image, ("shape", I64([5, 10]))], 1, 1, 18),
    *[(d, "BitShift", {"direction": d}, [U8([77, 100, 31, 1]), ("by", U8([0, 1, 3, 7]))], 1, 1, 22) for d in ("LEFT", "RIGHT")],
    *[(n, "AveragePool", a, [image], 1, 0, 22) for n, a in (
        ("dilated", {"kernel_shape": [2, 3], "dilations": [3, 2]}), ("dilated, strided", {"kernel_shape": [3, 2], "dilations": [2, 1], "strides": [1, 2]}),
        ("dilated, padded", {"kernel_shape": [2, 3], "dilations": [3, 2], "pads": [1, 2, 0, 1]}), ("dilated, padding counts", {"kernel_shape": [2, 3], "dilations": [3, 2], "pads": [1, 2, 0, 1], "count_include_pad": 1}))],
    ("of four turns", "Loop", {"body": recurrent}, [("turns", I64(4)), ("on", np.array(True)), ("begin", np.zeros((2, 3), np.float32)), "after them", some(2, 4, 3)], 2, 0, 17),
    ("along the second axis, backwards", "Scan", {"body": along, "num_scan_inputs": 1, "scan_input_axes": [1], "scan_input_directions": [1], "scan_output_axes": [1]}, [("begin", some(2, 3)), some(2, 5, 3)], 2, 0, 17),
    ("positions in all", "MaxPool", {"kernel_shape": [2, 3], "strides": [2, 1]}, [image], 2, 1, 22), ("positions by columns", "MaxPool", {"kernel_shape": [2, 3], "strides": [2, 1], "storage_order": 1}, [image], 2, 1, 22),
    *[(m, "Pad", {"mode": m}, [image, ("pads", I64([0, 1, 2, 0, 0, 2, 1, 0]))], 1, 1, 22) for m in ("reflect", "edge", "wrap")], ("reflect batch", "Pad", {"mode": "reflect"}, [some(4, 3, 2), ("pads", I64([2, 0, 0, 1, 0, 0]))], 1, 1, 22),
]


def rows():
    for name, op, attrs, inputs, results, exact, opset in ROWS:
        fed = [x for x in inputs if isinstance(x, np.ndarray)]
        yield f"{op} {name}", (op, attrs, inputs, results, opset), fed, exact


def build(call, fed):
    op, attrs, inputs, results, opset = call
    names, held, infos, asked = [], [], [], len(inputs)
    for at, x in enumerate(inputs):
        if isinstance(x, str):  # what follows is read by the bodies alone
            asked = at
        elif x is None:
            names.append("")
        elif isinstance(x, tuple):
            names.append(x[0])
            held.append(numpy_helper.from_array(np.asarray(x[1]), x[0]))
        else:
            names.append(f"x{len(infos)}")
            infos.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
    outputs = [f"y{i}" for i in range(results)]
    graph = helper.make_graph([helper.make_node(op, names[:asked], outputs, **attrs)], "g", infos, [onnx.ValueInfoProto(name=y) for y in outputs], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    return base64.b64encode(model.SerializeToString()).decode(), fed
