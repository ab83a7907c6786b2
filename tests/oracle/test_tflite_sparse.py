"""Weights that a TFLite file stores sparsely, against TensorFlow's interpreter: what DENSIFY makes of them there is what is read."""
import numpy as np
import pytest
from carrying import convoy, plain_session, run_natively

tf = pytest.importorskip("tensorflow")
schema = pytest.importorskip("tensorflow.lite.python.schema_py_generated")

# Shape, order of the axes, which are blocked and in how many cells, which are lists of places (by their order), how wide these are.
LAYOUTS = {
    "rows": ((6, 8), (0, 1), {}, (1,), "Uint8"),
    "columns": ((6, 8), (1, 0), {}, (1,), "Uint16"),
    "both": ((6, 8), (0, 1), {}, (0, 1), "Int32"),
    "blocks": ((6, 8), (0, 1, 2), {1: 4}, (1,), "Uint8"),
    "blocks of columns": ((6, 8), (1, 0, 2, 3), {0: 3, 1: 2}, (0, 1), "Uint16"),
    "kernel": ((5, 3, 2, 4), (0, 3, 1, 2), {}, (1, 3), "Int32"),
}


def stored(dense, order, blocks, lists):
    """The numbers as they lie in the file, and of each axis its size or its segments and places."""
    split, at = [], []
    for axis, size in enumerate(dense.shape):
        at.append(len(split))
        split += [size // blocks[axis], blocks[axis]] if axis in blocks else [size]
    inner = [at[axis] + 1 for axis in sorted(blocks)]
    cut = dense.reshape(split).transpose(at + inner).transpose(order)
    nodes, axes = [cut], []
    for level in range(cut.ndim):
        if level not in lists:
            axes.append(cut.shape[level])
            nodes = [child for node in nodes for child in node]
            continue
        segments, places, below = [0], [], []
        for node in nodes:
            for place, child in enumerate(node):
                if np.any(child):
                    places.append(place)
                    below.append(child)
            segments.append(len(places))
        axes.append((segments, places))
        nodes = below
    return np.array(nodes, dense.dtype), axes


def sparse_model(layout, dtype, path):
    """x + the weights."""
    shape, order, blocks, lists, width = LAYOUTS[layout]
    rng = np.random.default_rng(4)
    dense = (rng.integers(1, 60, shape) * (rng.random(shape) < 0.3)).astype(dtype)
    numbers, axes = stored(dense, order, blocks, lists)
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, graph.tensors, graph.operators, model.operatorCodes = 3, [schema.BufferT()], [], [], []

    def tensor(name, kind, data=None):
        made = schema.TensorT()
        made.name, made.shape, made.type, made.buffer = name, list(shape), kind, 0
        if data is not None:
            held = schema.BufferT()
            held.data = list(data.tobytes())
            model.buffers.append(held)
            made.buffer = len(model.buffers) - 1
        graph.tensors.append(made)
        return made

    def operator(builtin, inputs, output, options=None):
        code, made = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode, code.deprecatedBuiltinCode, code.version = builtin, min(builtin, 127), 3 if builtin == 6 else 1
        made.opcodeIndex, made.inputs, made.outputs = len(model.operatorCodes), inputs, [output]
        if options:
            made.builtinOptionsType, made.builtinOptions = getattr(schema.BuiltinOptions, options), getattr(schema, options + "T")()
        model.operatorCodes.append(code)
        graph.operators.append(made)

    kind = {"float32": 0, "float16": 1, "int32": 2}[dtype]
    real = 2 if dtype == "int32" else 0
    tensor("x", real)
    sparsity = tensor("w", kind, numbers).sparsity = schema.SparsityParametersT()
    sparsity.traversalOrder, sparsity.blockMap, sparsity.dimMetadata = list(order), sorted(blocks), []
    for axis in axes:
        made = schema.DimensionMetadataT()
        made.denseSize = 0
        if isinstance(axis, int):
            made.format, made.denseSize = schema.DimensionType.DENSE, axis
        else:
            made.format = schema.DimensionType.SPARSE_CSR
            kind_of_list = getattr(schema.SparseIndexVector, width + "Vector")
            made.arraySegmentsType, made.arraySegments = kind_of_list, getattr(schema, width + "VectorT")()
            made.arrayIndicesType, made.arrayIndices = kind_of_list, getattr(schema, width + "VectorT")()
            made.arraySegments.values, made.arrayIndices.values = axis
        sparsity.dimMetadata.append(made)
    tensor("dense", kind)
    operator(schema.BuiltinOperator.DENSIFY, [1], 2, "DensifyOptions")
    if dtype == "float16":
        tensor("wide", 0)
        operator(schema.BuiltinOperator.DEQUANTIZE, [2], 3, "DequantizeOptions")
    tensor("y", real)
    last = len(graph.tensors) - 1
    operator(schema.BuiltinOperator.ADD, [0, last - 1], last, "AddOptions")
    graph.inputs, graph.outputs, model.subgraphs = [0], [last], [graph]
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return rng.integers(-9, 9, shape).astype("int32" if real else "float32"), dense


@pytest.mark.parametrize("layout,dtype", [*((layout, "float32") for layout in LAYOUTS), ("rows", "float16"), ("blocks", "int32")])
def test_weights_that_are_stored_sparsely_are_read_with_their_zeros(layout, dtype, tmp_path):
    source = tmp_path / "sparse.tflite"
    x, dense = sparse_model(layout, dtype, source)
    interpreter = tf.lite.Interpreter(str(source), experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    try:
        interpreter.invoke()
        wanted = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_array_equal(wanted, x + dense.astype(x.dtype))
    except RuntimeError as lacks:  # its kernel densifies float32, float16 and int8
        assert dtype == "int32", lacks
        wanted = x + dense
    np.testing.assert_array_equal(run_natively([source], {"x": x}, tmp_path)[0], wanted)
    convoy("port", source, "-o", tmp_path / "port.onnx", "--interface", "source")
    session = plain_session(tmp_path / "port.onnx")
    np.testing.assert_array_equal(session.run(None, {session.get_inputs()[0].name: x})[0], wanted)


def test_a_list_of_places_that_leaves_its_axis_is_a_broken_file(tmp_path):
    source = tmp_path / "sparse.tflite"
    sparse_model("both", "float32", source)
    model = schema.ModelT.InitFromPackedBuf(bytearray(source.read_bytes()), 0)
    model.subgraphs[0].tensors[1].sparsity.dimMetadata[1].arrayIndices.values[-1] = 8
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    source.write_bytes(bytes(builder.Output()))
    assert "stores place 8 of an axis of 8" in convoy("summary", source, code=5).stderr
