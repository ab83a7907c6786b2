"""Weights that an ONNX file holds in types of 2, 4 and 8 bits which no array here has: the numbers that ONNX's own evaluator and
ONNX Runtime take them for, and refusals with the type's name where something would round to one."""
import numpy as np
import onnx
import pytest
from carrying import assert_close, convoy, plain_session, port, run_natively
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

WHOLE = {"INT4": (-8, 7), "UINT4": (0, 15), "INT2": (-2, 1), "UINT2": (0, 3)}
REAL = ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1"]
STORAGES = ["raw", "list", "external"]
OUT, IN, BLOCK = 6, 9, 3  # an odd number of weights in a row: halves of bytes run across rows


def bits_of(name):
    return int(name.rsplit("T", 1)[1][0])


def tensor_of(name, codes, label, storage="raw", folder=None):
    """A tensor of the element type whose numbers have these codes."""
    codes = np.asarray(codes)
    each = 8 // bits_of(name)
    flat = np.concatenate([codes.ravel(), np.zeros(-codes.size % each, codes.dtype)]).astype(np.uint8)
    packed = sum((flat[i::each] & (256 // (1 << (8 - bits_of(name))) - 1)) << (i * bits_of(name)) for i in range(each)).astype(np.uint8)
    tensor = TensorProto(name=label, data_type=getattr(TensorProto, name), dims=codes.shape)
    if storage == "list":
        tensor.int32_data.extend(int(byte) for byte in packed)
    elif storage == "raw":
        tensor.raw_data = packed.tobytes()
    else:
        (folder / "weights.bin").write_bytes(b"\xff" * 5 + packed.tobytes() + b"\xff")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in ("location", "weights.bin"), ("offset", 5), ("length", packed.size):
            tensor.external_data.add(key=key, value=str(value))
    return tensor


def finite_codes(name, shape, seed=0):
    """Codes of finite numbers, all of them if there is room."""
    every = np.arange(1 << bits_of(name), dtype=np.uint8)
    if name in REAL:
        every = every[np.isfinite(numpy_helper.to_array(tensor_of(name, every, "all")).astype(np.float32))]
    return np.random.default_rng(seed).permutation(np.resize(every, np.prod(shape))).reshape(shape)


def save(path, nodes, inputs, outputs, tensors, opset):
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset < 23 else 11)
    onnx.save(model, path)


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def answers(path, given):
    """ONNX's evaluator, and ONNX Runtime where it has the operator for the type."""
    want = ReferenceEvaluator(str(path)).run(None, given)
    try:
        session = plain_session(path)
    except Exception as error:
        assert "NOT_IMPLEMENTED" in str(error) or "nsupported" in str(error) or "INVALID_GRAPH" in str(error), error
        return want
    assert_close(session.run(None, given), want, what="ONNX Runtime")
    return want


def dense(name, grain, storage, path):
    """x @ W behind DequantizeLinear: one scale, one for each column, or one for each block of a column."""
    random = np.random.default_rng(3)
    shape = {"tensor": (), "axis": (OUT,), "block": (IN // BLOCK, OUT)}[grain]
    attributes = {"tensor": {}, "axis": {"axis": 1}, "block": {"axis": 0, "block_size": BLOCK}}[grain]
    scale = (0.01 * (1 + random.random(shape))).astype(np.float32)
    tensors = [tensor_of(name, finite_codes(name, (IN, OUT)), "w", storage, path.parent), numpy_helper.from_array(scale, "scale")]
    if name in WHOLE:
        tensors.append(tensor_of(name, random.integers(0, 1 << bits_of(name), shape), "zero"))
    nodes = [
        helper.make_node("DequantizeLinear", [t.name for t in tensors], ["wide"], **attributes),
        helper.make_node("MatMul", ["x", "wide"], ["y"]),
    ]
    opset = 25 if bits_of(name) == 2 else 23 if name == "FLOAT4E2M1" else 21
    save(path, nodes, [floats("x", [2, IN])], [floats("y", [2, OUT])], tensors, opset)
    return {"x": random.standard_normal((2, IN)).astype(np.float32)}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("grain", ["tensor", "axis", "block"])
@pytest.mark.parametrize("name", [*WHOLE, *REAL])
def test_weights_are_what_they_stand_for(name, grain, storage, tmp_path):
    given = dense(name, grain, storage, tmp_path / "m.onnx")
    want = answers(tmp_path / "m.onnx", given)
    assert_close(run_natively([tmp_path / "m.onnx"], given, tmp_path), want)


@pytest.mark.parametrize("grain", ["axis", "block"])
@pytest.mark.parametrize("name", ["INT4", "UINT4", "FLOAT8E4M3FN"])
def test_ports_and_rewritten_files_answer_alike(name, grain, tmp_path):
    given = dense(name, grain, "raw", tmp_path / "m.onnx")
    want = answers(tmp_path / "m.onnx", given)
    assert_close(port([tmp_path / "m.onnx"], tmp_path / "net.py")([given["x"]]), want)
    convoy("port", tmp_path / "m.onnx", "--to", "onnx", "-o", tmp_path / "again.onnx")
    assert_close(plain_session(tmp_path / "again.onnx").run(None, given), want)


@pytest.mark.parametrize("name", ["INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E5M2"])
def test_a_kernel_of_a_convolution(name, tmp_path):
    """Held the other way round and with an axis too many, which nodes before DequantizeLinear mend."""
    nodes = [
        helper.make_node("Squeeze", ["w", "last"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["turned"], perm=[3, 2, 0, 1]),
        helper.make_node("DequantizeLinear", ["turned", "scale"], ["kernel"], axis=0),
        helper.make_node("Conv", ["x", "kernel"], ["y"]),
    ]
    scale = np.linspace(0.01, 0.03, 5, dtype=np.float32)
    tensors = [
        tensor_of(name, finite_codes(name, (3, 3, 2, 5, 1)), "w"),
        numpy_helper.from_array(np.array([4]), "last"),
        numpy_helper.from_array(scale, "scale"),
    ]
    save(tmp_path / "m.onnx", nodes, [floats("x", [1, 2, 6, 5])], [floats("y", [1, 5, 4, 3])], tensors, 21)
    given = {"x": np.random.default_rng(1).standard_normal((1, 2, 6, 5)).astype(np.float32)}
    want = answers(tmp_path / "m.onnx", given)
    assert_close(run_natively([tmp_path / "m.onnx"], given, tmp_path), want)
    assert_close(port([tmp_path / "m.onnx"], tmp_path / "net.py")([given["x"]]), want)


@pytest.mark.parametrize("name", REAL)
def test_all_codes_are_read(name, tmp_path):
    """NaN and infinities as well, by Cast."""
    every = tensor_of(name, np.arange(1 << bits_of(name), dtype=np.uint8), "every")
    nodes = [helper.make_node("Cast", ["every"], ["wide"], to=TensorProto.FLOAT), helper.make_node("Add", ["x", "wide"], ["y"])]
    shape = list(every.dims)
    save(tmp_path / "m.onnx", nodes, [floats("x", shape)], [floats("y", shape)], [every], 23)
    got = run_natively([tmp_path / "m.onnx"], {"x": np.zeros(shape, np.float32)}, tmp_path)[0]
    np.testing.assert_array_equal(got, numpy_helper.to_array(every).astype(np.float32))


@pytest.mark.parametrize("said_by", ["zero", "attribute"])
@pytest.mark.parametrize("name", ["INT4", "UINT4"])
def test_steps_of_four_bits_end_at_their_bounds(name, said_by, tmp_path):
    least, most = WHOLE[name]
    tensors = [numpy_helper.from_array(np.float32(0.5), "scale"), tensor_of(name, [2 if said_by == "zero" else 0], "zero")]
    tensors[1].dims[:] = []
    attributes = {} if said_by == "zero" else {"output_dtype": getattr(TensorProto, name)}
    inputs = ["x", "scale", "zero"][: 3 if said_by == "zero" else 2]
    nodes = [helper.make_node("QuantizeLinear", inputs, ["q"], **attributes), helper.make_node("DequantizeLinear", ["q", *inputs[1:]], ["y"])]
    save(tmp_path / "m.onnx", nodes, [floats("x", [41])], [floats("y", [41])], tensors[: len(inputs) - 1], 21)
    given = {"x": np.linspace(-10, 10, 41, dtype=np.float32)}
    want = ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, given)
    assert want[0].max() - want[0].min() == 0.5 * (most - least)
    np.testing.assert_array_equal(plain_session(tmp_path / "m.onnx").run(None, given)[0], want[0])
    np.testing.assert_array_equal(run_natively([tmp_path / "m.onnx"], given, tmp_path)[0], want[0])
    np.testing.assert_array_equal(port([tmp_path / "m.onnx"], tmp_path / "net.py")([given["x"]])[0], want[0])


def narrow(name, code, shape):
    return helper.make_tensor_value_info(name, code, shape)


REFUSALS = {
    "input": ([("DequantizeLinear", ["w", "scale"], ["y"], {})], [narrow("w", TensorProto.INT4, [4])], [], "input 'w': has element type INT4"),
    "output": ([("Identity", ["w"], ["y"], {})], [], ["w"], "output 'y' has element type FLOAT8E5M2"),
    "cast": ([("Cast", ["x"], ["q"], {"to": 17}), ("Cast", ["q"], ["y"], {"to": 1})], [], [], "'q' (Cast, opset 21): attribute 'to' is FLOAT8E4M3FN"),
    "like": ([("CastLike", ["x", "w"], ["y"], {})], [], ["w"], "reads 'w' of element type FLOAT8E5M2"),
    "sum": ([("Add", ["w", "w"], ["y"], {})], [], ["w"], "reads 'w' of element type FLOAT8E5M2"),
    "moved": ([("Reshape", ["w", "shape"], ["v"], {}), ("Add", ["v", "v"], ["y"], {})], [], ["w", "shape"], "reads 'v' of element type FLOAT8E5M2"),
    "rounded": ([("QuantizeLinear", ["x", "scale", "zero"], ["q"], {}), ("Cast", ["q"], ["y"], {"to": 1})], [], ["scale", "zero"], "rounds to element type FLOAT8E4M3FN"),
    "scale": ([("DequantizeLinear", ["w", "scale8"], ["y"], {})], [], ["w", "scale8"], "initializer 'scale8': has element type FLOAT8E8M0"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_would_round_is_refused_by_its_name(case, tmp_path):
    nodes, inputs, named, words = REFUSALS[case]
    scale8 = TensorProto(name="scale8", data_type=TensorProto.FLOAT8E8M0, raw_data=b"\x7f")
    known = {
        "w": tensor_of("FLOAT8E5M2", [1, 2, 3, 4], "w"),
        "shape": numpy_helper.from_array(np.array([2, 2]), "shape"),
        "scale": numpy_helper.from_array(np.float32(0.5), "scale"),
        "zero": tensor_of("FLOAT8E4M3FN", 0, "zero"),
        "scale8": scale8,
    }
    if case == "input":
        named = ["scale"]
    outputs = [narrow("y", TensorProto.FLOAT8E5M2, [4]) if case == "output" else floats("y", None)]
    made = [helper.make_node(op, reads, gives, **attributes) for op, reads, gives, attributes in nodes]
    save(tmp_path / "m.onnx", made, [floats("x", [4]), *inputs], outputs, [known[n] for n in named], 21)
    assert words in convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "net.py", code=6).stderr


def test_bytes_that_are_too_few_are_a_broken_file(tmp_path):
    dense("INT4", "tensor", "raw", tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-1]
    onnx.save(model, tmp_path / "m.onnx")
    assert "initializer 'w': has shape [9, 6] and 26 bytes" in convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "net.py", code=5).stderr
