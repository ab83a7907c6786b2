"""Which element types the interpreter takes as plain numbers, operator by operator: what the table beside the operators states is
what the kernels of every resolver that has the operator run, and answer as arithmetic has it."""
import faulthandler
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

schema = pytest.importorskip("tensorflow.lite.python.schema_py_generated")
KINDS = {name.lower(): code for name, code in vars(schema.TensorType).items() if isinstance(code, int)}
TYPES = ["float32", "float16", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]
RESOLVERS = ["BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO"]
SHAPE = (1, 2, 2, 4)
X = ("T", SHAPE)  # T: the type that is asked for; arrays are constants


def numbers(*values):
    return "int32", np.array(values, np.int32)


def number(value):
    return "int32", np.array(value, np.int32)


# Options, inputs and outputs of one call of each operator that is written.
CASES = {
    "ADD": ("Add", {}, [X, X], [X]),
    "SUB": ("Sub", {}, [X, X], [X]),
    "MUL": ("Mul", {}, [X, X], [X]),
    "DIV": ("Div", {}, [X, X], [X]),
    "MAXIMUM": ("MaximumMinimum", {}, [X, X], [X]),
    "MINIMUM": ("MaximumMinimum", {}, [X, X], [X]),
    "POW": ("Pow", {}, [X, X], [X]),
    "FLOOR_DIV": ("FloorDiv", {}, [X, X], [X]),
    "FLOOR_MOD": ("FloorMod", {}, [X, X], [X]),
    "EQUAL": ("Equal", {}, [X, X], [("bool", (1, 2, 2, 4))]),
    "NOT_EQUAL": ("NotEqual", {}, [X, X], [("bool", (1, 2, 2, 4))]),
    "LESS": ("Less", {}, [X, X], [("bool", (1, 2, 2, 4))]),
    "LESS_EQUAL": ("LessEqual", {}, [X, X], [("bool", (1, 2, 2, 4))]),
    "GREATER": ("Greater", {}, [X, X], [("bool", (1, 2, 2, 4))]),
    "GREATER_EQUAL": ("GreaterEqual", {}, [X, X], [("bool", (1, 2, 2, 4))]),
    "LOGICAL_AND": ("LogicalAnd", {}, [X, X], [X]),
    "LOGICAL_OR": ("LogicalOr", {}, [X, X], [X]),
    "LOGICAL_NOT": ("LogicalNot", {}, [X], [X]),
    "BITWISE_XOR": ("BitwiseXor", {}, [X, X], [X]),
    "SQUARED_DIFFERENCE": ("SquaredDifference", {}, [X, X], [X]),
    "L2_NORMALIZATION": ("L2Norm", {}, [X], [X]),
    "SELECT_V2": ("SelectV2", {}, [("bool", (1, 2, 2, 4)), X, X], [X]),
    "RELU": (None, {}, [X], [X]),
    "RELU6": (None, {}, [X], [X]),
    "RELU_N1_TO_1": (None, {}, [X], [X]),
    "LEAKY_RELU": ("LeakyRelu", {"alpha": 0.5}, [X], [X]),
    "ELU": (None, {}, [X], [X]),
    "GELU": ("Gelu", {}, [X], [X]),
    "PRELU": (None, {}, [X, ("T", (1, 1, 4))], [X]),
    "SOFTMAX": ("Softmax", {"beta": 1.0}, [X], [X]),
    "LOG_SOFTMAX": ("LogSoftmax", {}, [X], [X]),
    "LOGISTIC": (None, {}, [X], [X]),
    "TANH": (None, {}, [X], [X]),
    "HARD_SWISH": ("HardSwish", {}, [X], [X]),
    "EXP": ("Exp", {}, [X], [X]),
    "LOG": (None, {}, [X], [X]),
    "SQRT": (None, {}, [X], [X]),
    "RSQRT": (None, {}, [X], [X]),
    "SQUARE": ("Square", {}, [X], [X]),
    "ABS": ("Abs", {}, [X], [X]),
    "NEG": ("Neg", {}, [X], [X]),
    "FLOOR": (None, {}, [X], [X]),
    "CEIL": (None, {}, [X], [X]),
    "ROUND": (None, {}, [X], [X]),
    "SIN": (None, {}, [X], [X]),
    "COS": ("Cos", {}, [X], [X]),
    "SIGN": ("Sign", {}, [X], [X]),
    "MEAN": ("Reducer", {"keepDims": 1}, [X, numbers(3)], [("T", (1, 2, 2, 1))]),
    "SUM": ("Reducer", {"keepDims": 1}, [X, numbers(3)], [("T", (1, 2, 2, 1))]),
    "REDUCE_MAX": ("Reducer", {"keepDims": 1}, [X, numbers(3)], [("T", (1, 2, 2, 1))]),
    "REDUCE_MIN": ("Reducer", {"keepDims": 1}, [X, numbers(3)], [("T", (1, 2, 2, 1))]),
    "REDUCE_PROD": ("Reducer", {"keepDims": 1}, [X, numbers(3)], [("T", (1, 2, 2, 1))]),
    "REDUCE_ANY": ("Reducer", {"keepDims": 1}, [X, numbers(3)], [("T", (1, 2, 2, 1))]),
    "REDUCE_ALL": ("Reducer", {"keepDims": 1}, [X, numbers(3)], [("T", (1, 2, 2, 1))]),
    "ARG_MAX": ("ArgMax", {"outputType": 4}, [X, number(3)], [("int64", (1, 2, 2))]),
    "ARG_MIN": ("ArgMin", {"outputType": 4}, [X, number(3)], [("int64", (1, 2, 2))]),
    "TOPK_V2": ("TopKV2", {}, [X, number(2)], [("T", (1, 2, 2, 2)), ("int32", (1, 2, 2, 2))]),
    "CUMSUM": ("Cumsum", {}, [X, number(3)], [X]),
    "PAD": ("Pad", {}, [X, numbers((1, 1), (1, 1), (1, 1), (1, 1))], [("T", (3, 4, 4, 6))]),
    "PADV2": ("PadV2", {}, [X, numbers((1, 1), (1, 1), (1, 1), (1, 1)), ("T", np.ones(()))], [("T", (3, 4, 4, 6))]),
    "MIRROR_PAD": ("MirrorPad", {"mode": 1}, [X, numbers((0, 0), (1, 1), (1, 1), (0, 0))], [("T", (1, 4, 4, 4))]),
    "RESHAPE": ("Reshape", {}, [X, numbers(4, 4)], [("T", (4, 4))]),
    "TRANSPOSE": ("Transpose", {}, [X, numbers(3, 2, 1, 0)], [("T", (4, 2, 2, 1))]),
    "EXPAND_DIMS": ("ExpandDims", {}, [X, number(0)], [("T", (1, 1, 2, 2, 4))]),
    "SQUEEZE": ("Squeeze", {"squeezeDims": [0]}, [X], [("T", (2, 2, 4))]),
    "DEPTH_TO_SPACE": ("DepthToSpace", {"blockSize": 2}, [X], [("T", (1, 4, 4, 1))]),
    "SPACE_TO_DEPTH": ("SpaceToDepth", {"blockSize": 2}, [X], [("T", (1, 1, 1, 16))]),
    "SPACE_TO_BATCH_ND": ("SpaceToBatchND", {}, [X, numbers(2, 2), numbers((0, 0), (0, 0))], [("T", (4, 1, 1, 4))]),
    "BATCH_TO_SPACE_ND": ("BatchToSpaceND", {}, [("T", (4, 1, 1, 4)), numbers(2, 2), numbers((0, 0), (0, 0))], [X]),
    "SPLIT_V": ("SplitV", {"numSplits": 2}, [X, numbers(1, 3), number(3)], [("T", (1, 2, 2, 1)), ("T", (1, 2, 2, 3))]),
    "CONCATENATION": ("Concatenation", {"axis": 3}, [X, X], [("T", (1, 2, 2, 8))]),
    "PACK": ("Pack", {"axis": 0, "valuesCount": 2}, [X, X], [("T", (2, 1, 2, 2, 4))]),
    "GATHER": ("Gather", {"axis": 3}, [X, numbers(2, 0)], [("T", (1, 2, 2, 2))]),
    "SLICE": ("Slice", {}, [X, numbers(0, 0, 0, 1), numbers(1, 2, 2, 2)], [("T", (1, 2, 2, 2))]),
    "STRIDED_SLICE": ("StridedSlice", {}, [X, numbers(0, 0, 0, 0), numbers(1, 2, 2, 4), numbers(1, 1, 1, 2)], [("T", (1, 2, 2, 2))]),
    "TILE": ("Tile", {}, [X, numbers(1, 1, 1, 2)], [("T", (1, 2, 2, 8))]),
    "BROADCAST_TO": ("BroadcastTo", {}, [X, numbers(3, 2, 2, 4)], [("T", (3, 2, 2, 4))]),
    "REVERSE_V2": ("ReverseV2", {}, [X, numbers(3)], [X]),
    "SHAPE": ("Shape", {"outType": 2}, [X], [("int32", (4,))]),
    "RESIZE_BILINEAR": ("ResizeBilinear", {}, [X, numbers(4, 4)], [("T", (1, 4, 4, 4))]),
    "RESIZE_NEAREST_NEIGHBOR": ("ResizeNearestNeighbor", {}, [X, numbers(4, 4)], [("T", (1, 4, 4, 4))]),
    "MAX_POOL_2D": ("Pool2D", {"padding": 1, "strideW": 1, "strideH": 1, "filterWidth": 2, "filterHeight": 2}, [X], [("T", (1, 1, 1, 4))]),
    "AVERAGE_POOL_2D": ("Pool2D", {"padding": 1, "strideW": 1, "strideH": 1, "filterWidth": 2, "filterHeight": 2}, [X], [("T", (1, 1, 1, 4))]),
    "BATCH_MATMUL": ("BatchMatMul", {}, [("T", (1, 2, 4)), ("T", (1, 4, 3))], [("T", (1, 2, 3))]),
    "FULLY_CONNECTED": ("FullyConnected", {}, [("T", (2, 4)), ("T", np.ones((3, 4))), ("T", np.ones((3,)))], [("T", (2, 3))]),
    "CONV_2D": ("Conv2D", {"padding": 1, "strideW": 1, "strideH": 1}, [X, ("T", np.ones((3, 1, 1, 4))), ("T", np.ones((3,)))], [("T", (1, 2, 2, 3))]),
    "DEPTHWISE_CONV_2D": ("DepthwiseConv2D", {"padding": 1, "strideW": 1, "strideH": 1, "depthMultiplier": 1}, [X, ("T", np.ones((1, 1, 1, 4))), ("T", np.ones((4,)))], [X]),
    "CONV_3D": ("Conv3D", {"padding": 1, "strideW": 1, "strideH": 1, "strideD": 1}, [("T", (1, 1, 2, 2, 4)), ("T", np.ones((1, 1, 1, 4, 3))), ("T", np.ones((3,)))], [("T", (1, 1, 2, 2, 3))]),
    "CONV_3D_TRANSPOSE": ("Conv3D", {"padding": 1, "strideW": 1, "strideH": 1, "strideD": 1}, [numbers(1, 1, 2, 2, 3), ("T", np.ones((1, 1, 1, 3, 4))), ("T", (1, 1, 2, 2, 4))], [("T", (1, 1, 2, 2, 3))]),
    "TRANSPOSE_CONV": ("TransposeConv", {"padding": 1, "strideW": 1, "strideH": 1}, [numbers(1, 2, 2, 3), ("T", np.ones((3, 1, 1, 4))), X], [("T", (1, 2, 2, 3))]),
}
# Of large numbers, which show a kernel that goes through float32 or float64: the answer from what it gives of small ones.
MOVING = {"MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN", "RESHAPE", "TRANSPOSE", "EXPAND_DIMS", "SQUEEZE", "SPLIT_V", "CONCATENATION",
          "PACK", "GATHER", "SLICE", "STRIDED_SLICE", "TILE", "REVERSE_V2", "SELECT_V2", "MIRROR_PAD", "DEPTH_TO_SPACE",
          "SPACE_TO_DEPTH", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "TOPK_V2"}
TELLING = {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "ARG_MAX", "ARG_MIN"}
COMPUTING = {"ADD": np.add, "BITWISE_XOR": np.bitwise_xor, "SUB": np.subtract, "MUL": np.multiply, "FLOOR_DIV": np.floor_divide, "FLOOR_MOD": np.mod, "NEG": np.negative,
             "ABS": np.abs, "SIGN": np.sign, "CUMSUM": lambda x: np.cumsum(x, 3, x.dtype),
             "SUM": lambda x: np.sum(x, 3, x.dtype, keepdims=True)}


def model(op: str, dtype: str) -> bytes:
    import flatbuffers

    kind, said, inputs, outputs = CASES[op]
    made, graph = schema.ModelT(), schema.SubGraphT()
    made.version, made.buffers, graph.tensors, graph.inputs = 3, [schema.BufferT()], [], []
    for place, (own, sizes) in enumerate(inputs + outputs):
        tensor = schema.TensorT()
        own = dtype if own == "T" else own
        tensor.name, tensor.type, tensor.shape = f"t{place}", KINDS[own], list(getattr(sizes, "shape", sizes))
        if isinstance(sizes, np.ndarray):
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(sizes.astype(own).tobytes(), np.uint8)
            tensor.buffer = len(made.buffers)
            made.buffers.append(buffer)
        elif place < len(inputs):
            graph.inputs.append(place)
        graph.tensors.append(tensor)
    code, node = schema.OperatorCodeT(), schema.OperatorT()
    code.builtinCode, code.version = getattr(schema.BuiltinOperator, op), 1
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    node.inputs, node.outputs = list(range(len(inputs))), list(range(len(inputs), len(inputs + outputs)))
    if kind:
        node.builtinOptionsType = getattr(schema.BuiltinOptions, kind + "Options")
        node.builtinOptions = getattr(schema, kind + "OptionsT")()
        for name, value in said.items():
            assert hasattr(node.builtinOptions, name), name
            setattr(node.builtinOptions, name, value)
    graph.operators, made.operatorCodes, made.subgraphs, graph.outputs = [node], [code], [graph], node.outputs
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def answers(content: bytes, feeds: list, resolver: str) -> list:
    import tensorflow as tf

    kind = getattr(tf.lite.experimental.OpResolverType, resolver)
    interpreter = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=kind, num_threads=1)
    interpreter.allocate_tensors()
    for details, x in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(details["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]


def feeds_of(op: str, draw) -> list:
    feeds = [(own, draw.integers(1, 7, sizes)) for own, sizes in CASES[op][2] if isinstance(sizes, tuple)]
    return [(own, x % 2 if own == "bool" else x) for own, x in feeds]


def as_types(feeds: list, dtype: str) -> list:
    return [x.astype(dtype if own == "T" else own) for own, x in feeds]


def is_right(op: str, dtype: str, resolver: str) -> bool:
    draw, content = np.random.default_rng(5), model(op, dtype)
    feeds = feeds_of(op, draw)
    if dtype == "bool":
        feeds = [(own, x % 2) for own, x in feeds]
    got = answers(content, as_types(feeds, dtype), resolver)
    if op not in ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT", "REDUCE_ANY", "REDUCE_ALL", "BITWISE_XOR"):
        want = answers(model(op, "float32"), as_types(feeds, "float32"), resolver)
        tolerance = 0 if dtype not in ("float16", "float64") else 5e-3
        for a, b, (own, _) in zip(got, want, CASES[op][3], strict=True):
            if not np.allclose(a, b.astype(dtype) if own == "T" else b, rtol=tolerance, atol=tolerance, equal_nan=True):
                return False
    if dtype not in ("int32", "int64"):
        return True
    base = {"int32": (1 << 28) + 1, "int64": (1 << 53) + 1}[dtype]
    if op == "MUL":
        base = {"int32": (1 << 15) + 1, "int64": (1 << 31) + 1}[dtype]
    large = [(own, x + base if own == "T" else x) for own, x in feeds]
    again = answers(content, as_types(large, dtype), resolver)
    if op in COMPUTING:
        return bool(np.array_equal(again[0], COMPUTING[op](*as_types(large, dtype))))
    if op in MOVING | TELLING:
        moved = [a + np.array(base, dtype) if own == "T" and op in MOVING else a for a, (own, _) in zip(got, CASES[op][3], strict=True)]
        return all(np.array_equal(a, b) for a, b in zip(again, moved, strict=True))
    return True


def asked(op: str, dtype: str, resolver: str) -> bool:
    """In a process of its own: some kernels divide by the scale that plain numbers have none of."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            faulthandler.disable()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            code = 0 if is_right(op, dtype, resolver) else 1
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def stated() -> dict[str, list[str]]:
    program = Path(__file__).parents[2] / "build" / "release" / "schemas"
    out = subprocess.run([program, "tflite"], check=True, capture_output=True, text=True).stdout
    return {line.split("\t")[2]: line.split("\t")[3].split() for line in out.splitlines() if line.startswith("takes\t")}


STATED = stated()


@pytest.mark.sampled(16)
@pytest.mark.parametrize("op", sorted(set(STATED) - {"CAST"}))
def test_interpreter_computes_what_is_stated(op):
    there = [r for r in RESOLVERS if asked(op, STATED[op][0], r)]  # some operators have no reference kernel
    assert "AUTO" in there
    refused = [(dtype, r) for dtype in STATED[op] for r in there if not asked(op, dtype, r)]
    assert not refused, f"the interpreter does not compute {op} of {refused}"


def cast_is_right(source: str, target: str, resolver: str) -> bool:
    CASES["CAST"] = ("Cast", {"inDataType": KINDS[source], "outDataType": KINDS[target]}, [(source, (1, 4))], [(target, (1, 4))])
    x = np.array([[0, 1, 2, 100]]).astype(source)
    return bool(np.array_equal(answers(model("CAST", source), [x], resolver)[0], x.astype(target)))


@pytest.mark.parametrize("source", STATED["CAST"])
def test_interpreter_casts_what_is_stated(source):
    for target in STATED["CAST"]:
        for resolver in RESOLVERS:
            assert cast_is_right(source, target, resolver), (source, target, resolver)


NUMBER_KINDS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9}
ONNX_CALLS = {
    "relu": ("Relu", 1, {}), "clip": ("Clip", 1, {}), "argmax": ("ArgMax", 1, {"axis": 1}), "argmin": ("ArgMin", 1, {"axis": 1}),
    "add": ("Add", 2, {}), "sub": ("Sub", 2, {}), "mul": ("Mul", 2, {}), "div": ("Div", 2, {}), "mod": ("Mod", 2, {}),
    "max": ("Max", 2, {}), "min": ("Min", 2, {}), "less": ("Less", 2, {}), "equal": ("Equal", 2, {}), "where": ("Where", 3, {}),
    "neg": ("Neg", 1, {}), "abs": ("Abs", 1, {}), "sign": ("Sign", 1, {}), "transpose": ("Transpose", 1, {"perm": [1, 0]}),
    "concat": ("Concat", 2, {"axis": 1}), "split": ("Split", 1, {"axis": 1}), "tile": ("Tile", 1, {}), "pad": ("Pad", 1, {}),
    "gather": ("Gather", 1, {"axis": 1}), "cumsum": ("CumSum", 1, {}), "topk": ("TopK", 1, {"axis": 1}), "sum": ("ReduceSum", 1, {}),
}
CONSTANTS = {"gather": [[2, 0]], "tile": [[1, 2]], "pad": [[0, 1, 0, 2]], "cumsum": [1], "topk": [[2]], "sum": [[1]]}


def onnx_model(name: str, dtype: str):
    onnx = pytest.importorskip("onnx")
    op, inputs, said = ONNX_CALLS[name]
    helper, kind = onnx.helper, NUMBER_KINDS[dtype]
    words, stored = [f"x{i}" for i in range(inputs)], []
    kinds = [9 if name == "where" and i == 0 else kind for i in range(inputs)]
    for place, value in enumerate(CONSTANTS.get(name, [])):
        stored.append(onnx.numpy_helper.from_array(np.int64(value), f"c{place}"))
    if name == "clip":
        stored = [onnx.numpy_helper.from_array(np.array(v, dtype), f"c{i}") for i, v in enumerate((2, 5))]
    outputs = ["y", "z"] if name in ("split", "topk") else ["y"]
    extra = {"num_outputs": 2} if name == "split" else {}
    node = helper.make_node(op, words + [c.name for c in stored], outputs, **said, **extra)
    sides = [helper.make_tensor_value_info(w, k, [3, 4]) for w, k in zip(words, kinds, strict=True)]
    graph = helper.make_graph([node], "types", sides, [helper.make_empty_tensor_value_info(o) for o in outputs], stored)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return onnx.shape_inference.infer_shapes(made), kinds


@pytest.mark.sampled(60)
@pytest.mark.parametrize("dtype", NUMBER_KINDS)
@pytest.mark.parametrize("name", ONNX_CALLS)
def test_what_is_written_runs(name, dtype, tmp_path):
    """Refused, or the interpreter answers as ONNX Runtime does; never a file that it refuses."""
    import json

    from carrying import Crossing, convoy
    from test_tflite_written import runner

    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    if (name, dtype) == ("mod", "float32"):
        pytest.skip("ONNX has no such remainder of fractions")
    made, kinds = onnx_model(name, dtype)
    try:
        session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as refused:
        pytest.skip(f"ONNX Runtime: {str(refused)[:80]}")
    onnx.save(made, tmp_path / "model.onnx")
    done = convoy("port", tmp_path / "model.onnx", "-o", tmp_path / "model.tflite", "--json", code=None)
    if done.returncode == 6:
        return
    assert done.returncode == 0, done.stderr
    report, draw = json.loads(done.stdout), np.random.default_rng(7)
    sides = {side: [Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs")}
    least = 1 if name in ("div", "mod") or dtype in ("uint8", "bool") else -9
    feeds = [draw.integers(0, 2, (3, 4)) == 1 if k == 9 else draw.integers(least, 10, (3, 4)).astype(dtype) for k in kinds]
    want = session.run(None, {f"x{i}": x for i, x in enumerate(feeds)})
    for plain in (True, False):
        feed = {c.name: c.to_port(x) for c, x in zip(sides["inputs"], feeds, strict=True)}
        given = runner(tmp_path / "model.tflite", plain)(**feed)
        for c, y in zip(sides["outputs"], want, strict=True):
            assert np.allclose(c.from_port(given[c.name]), y, atol=1e-6), (name, dtype, plain)
