"""Operators of ONNX that become several of ours, and what only the numbers of a run decide, beside ONNX's own reference: what `run`
answers, and what PyTorch and ONNX Runtime answer for the ports."""
import numpy as np
import onnx
import pytest
import torch
from carrying import convoy, import_file, plain_session, run_natively
from onnx import helper as make
from onnx.reference import ReferenceEvaluator

RANDOM = np.random.default_rng(7)


def real(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def whole(dtype, *shape):
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def model(path, opset, op, inputs, outputs=1, **attributes):
    dtypes = [make.np_dtype_to_tensor_dtype(x.dtype) for x in inputs.values()]
    infos = [make.make_tensor_value_info(n, t, x.shape) for (n, x), t in zip(inputs.items(), dtypes)]
    names = [f"y{i}" for i in range(outputs)]
    body = make.make_graph([make.make_node(op, list(inputs), names, **attributes)], "g", infos, [])
    whole_model = make.make_model(body, opset_imports=[make.make_opsetid("", opset)], ir_version=10)
    for i, name in enumerate(names):
        kind = onnx.TensorProto.INT64 if op in ("NonZero", "NonMaxSuppression") or i > 0 else dtypes[0]
        whole_model.graph.output.append(make.make_tensor_value_info(name, kind, None))
    onnx.save(whole_model, path)
    return ReferenceEvaluator(whole_model).run(None, inputs)


def torch_answer(path, inputs):
    net = import_file(path).load()
    with torch.no_grad():
        given = [torch.from_numpy(x.copy()) for x in inputs.values()]
        answer = net(*given)
    if isinstance(answer, dict):
        answer = list(answer.values())
    return [a.numpy() for a in (answer if isinstance(answer, (tuple, list)) else [answer])]


def near(got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.shape == w.shape
        if np.issubdtype(w.dtype, np.floating):
            np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)
        else:
            assert np.array_equal(g, w)


CASES = {
    "and": (18, "BitwiseAnd", {"a": whole(np.int32, 3, 4), "b": whole(np.int32, 4)}, 1, {}),
    "or": (18, "BitwiseOr", {"a": whole(np.uint8, 3, 1), "b": whole(np.uint8, 1, 4)}, 1, {}),
    "xor": (18, "BitwiseXor", {"a": whole(np.int64, 5), "b": whole(np.int64, 5)}, 1, {}),
    "not": (18, "BitwiseNot", {"x": whole(np.int16, 2, 3)}, 1, {}),
    "clip_by_computed": (13, "Clip", {"x": real(3, 4), "least": np.array(-0.5, np.float32), "most": np.array(0.25, np.float32)}, 1, {}),
    "clip_by_one_computed": (13, "Clip", {"x": real(3, 4), "least": np.array(-0.5, np.float32)}, 1, {}),
    "clip_crossed": (13, "Clip", {"x": real(3, 4), "least": np.array(0.5, np.float32), "most": np.array(-0.5, np.float32)}, 1, {}),
    "clip_of_whole": (13, "Clip", {"x": whole(np.int32, 3, 4), "least": np.array(-9, np.int32), "most": np.array(2**30, np.int32)}, 1, {}),
    "det_2": (17, "Det", {"x": real(2, 3, 2, 2)}, 1, {}),
    "det_3": (17, "Det", {"x": real(4, 3, 3)}, 1, {}),
    "scatter": (13, "ScatterElements", {"x": real(3, 5, 2), "at": np.int64([[[4, -2], [0, 1]], [[1, 3], [-5, 0]]]), "u": real(2, 2, 2)}, 1, {"axis": 1}),
    "scatter_rows": (11, "ScatterElements", {"x": whole(np.int32, 4, 3), "at": np.int32([[3, 0, -3]]), "u": whole(np.int32, 1, 3)}, 1, {}),
    "scatter_added": (16, "ScatterElements", {"x": real(4, 3), "at": np.int64([[1, 0], [1, 2], [-1, 0]]), "u": real(3, 2)}, 1, {"reduction": "add"}),
    "scatter_multiplied": (18, "ScatterElements", {"x": real(6), "at": np.int64([5, 0, 5, -2]), "u": real(4)}, 1, {"reduction": "mul"}),
    "scatter_largest": (18, "ScatterElements", {"x": real(2, 4), "at": np.int64([[0, 0, 3], [2, -1, 2]]), "u": real(2, 3)}, 1, {"axis": -1, "reduction": "max"}),
    "deform": (
        22, "DeformConv",
        {"x": real(2, 4, 7, 6), "w": real(6, 2, 3, 2), "o": 2 * real(2, 24, 4, 7), "b": real(6), "m": real(2, 12, 4, 7)},
        1, {"group": 2, "offset_group": 2, "pads": [1, 0, 2, 2], "strides": [2, 1], "dilations": [1, 1], "kernel_shape": [3, 2]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_is_what_the_standard_says_here_and_in_the_ports(name, tmp_path):
    opset, op, inputs, outputs, attributes = CASES[name]
    if name == "deform":  # rows: (7 + 3 - 3) / 2 + 1, columns: 6 + 2 - 2 + 1
        assert inputs["o"].shape[2:] == ((7 + 3 - 3) // 2 + 1, 6 + 2 - 2 + 1)
    want = model(tmp_path / "m.onnx", opset, op, inputs, outputs, **attributes)
    near(run_natively([tmp_path / "m.onnx"], inputs, tmp_path), want)
    convoy("port", tmp_path / "m.onnx", "--to", "torch", "-o", tmp_path / "port.py")
    near(torch_answer(tmp_path / "port.py", inputs), want)
    convoy("port", tmp_path / "m.onnx", "--to", "onnx", "--opset", "20", "-o", tmp_path / "port.onnx")
    session = plain_session(tmp_path / "port.onnx")
    near(session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs.values())}), want)


@pytest.mark.parametrize("op, name", [("BitwiseAnd", "and"), ("BitwiseNot", "not")])
def test_older_opsets_have_nothing_that_works_on_bits(op, name, tmp_path):
    opset, _, inputs, _, _ = CASES[name]
    model(tmp_path / "m.onnx", opset, op, inputs)
    done = convoy("port", tmp_path / "m.onnx", "--to", "onnx", "--opset", "17", "-o", tmp_path / "port.onnx", code=6)
    assert "what works on bits needs operator set 18, this is 17: add --opset 18" in done.stderr and not (tmp_path / "port.onnx").exists()


# PyTorch's reflected, repeated and circular pads take two or three axes of three to five alone.
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("shape, pads", [
    ((7,), [2, 3]), ((3, 8), [0, 2, 0, 3]), ((3, 8), [1, 2, 2, 0]), ((3, 4, 5), [0, 0, 2, 0, 0, 1]), ((3, 4, 5), [0, 1, 2, 0, 2, 0]),
    ((3, 4, 5), [2, 1, 0, 1, 2, 3]), ((2, 3, 4, 5), [0, 2, 0, 1, 0, 0, 3, 0]),
])  # fmt: skip
def test_pads_of_any_axes_are_what_runtimes_make_of_them(mode, shape, pads, tmp_path):
    x = real(*shape)
    nodes = [make.make_node("Pad", ["x", "pads"], ["y"], mode=mode)]
    infos = [make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)]
    out = [make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None] * len(shape))]
    graph = make.make_graph(nodes, "g", infos, out, [make.make_tensor("pads", onnx.TensorProto.INT64, [len(pads)], pads)])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 19)], ir_version=9), tmp_path / "m.onnx")
    want = plain_session(tmp_path / "m.onnx").run(None, {"x": x})
    convoy("port", tmp_path / "m.onnx", "--to", "torch", "--interface", "source", "-o", tmp_path / "port.py")
    near(torch_answer(tmp_path / "port.py", {"x": x}), want)


def test_runtimes_go_by_the_nodes_where_the_file_says_other_axes_of_an_answer(tmp_path):
    x = real(2, 3)
    graph = make.make_graph(
        [make.make_node("Relu", ["x"], ["y"])], "g",
        [make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])],
        [make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [6])],
    )  # fmt: skip
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    want = plain_session(tmp_path / "m.onnx").run(None, {"x": x})
    done = convoy("port", tmp_path / "m.onnx", "--to", "torch", "-o", tmp_path / "port.py")
    assert "output 'y' is [6] by the file, its node gives [2, 3]" in done.stdout + done.stderr
    near(torch_answer(tmp_path / "port.py", {"x": x}), want)


def test_pytorchs_bits_are_read(tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return (x & 12) | (~x ^ 5)\n"
    )
    x = whole(np.int32, 4, 5)
    (y,) = run_natively([tmp_path / "net.py"], {"x": x}, tmp_path)
    t = torch.from_numpy(x)
    assert np.array_equal(y, ((t & 12) | (~t ^ 5)).numpy())


DATA_SIZED = {
    "non_zero": (13, "NonZero", {"x": (RANDOM.integers(0, 3, (3, 4, 2)) % 3 - 1).astype(np.float32)}, 1, {}),
    "unique": (11, "Unique", {"x": RANDOM.integers(-2, 3, (9,)).astype(np.int64)}, 4, {}),
    "unique_unsorted": (11, "Unique", {"x": RANDOM.integers(-2, 3, (9,)).astype(np.float32)}, 4, {"sorted": 0}),
    "unique_rows": (11, "Unique", {"x": RANDOM.integers(0, 2, (6, 2, 2)).astype(np.float32)}, 4, {"axis": 1}),
    "suppressed": (
        11, "NonMaxSuppression",
        {"boxes": RANDOM.random((2, 30, 4)).astype(np.float32), "scores": RANDOM.random((2, 3, 30)).astype(np.float32),
         "most": np.int64([7]), "overlap": np.float32([0.4]), "least": np.float32([0.2])}, 1, {},
    ),
    "suppressed_by_middle": (
        11, "NonMaxSuppression",
        {"boxes": RANDOM.random((1, 30, 4)).astype(np.float32), "scores": RANDOM.random((1, 2, 30)).astype(np.float32),
         "most": np.int64([9]), "overlap": np.float32([0.3])}, 1, {"center_point_box": 1},
    ),
    "shaped": (14, "Reshape", {"x": real(2, 6), "shape": np.int64([3, -1])}, 1, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", DATA_SIZED)
def test_what_the_numbers_of_a_run_decide_is_answered_by_run_alone(name, tmp_path):
    opset, op, inputs, outputs, attributes = DATA_SIZED[name]
    model(tmp_path / "m.onnx", opset, op, inputs, outputs, **attributes)
    want = plain_session(tmp_path / "m.onnx").run(None, inputs)
    near(run_natively([tmp_path / "m.onnx"], inputs, tmp_path), want)
    done = convoy("port", tmp_path / "m.onnx", "--to", "torch", "-o", tmp_path / "port.py", code=6)
    assert "known only when the model runs" in done.stderr


def test_layers_stand_before_and_behind_what_a_run_decides(tmp_path):
    """A detector's end: boxes and scores are computed, chosen, and read where they are chosen."""
    w = make.make_tensor("w", onnx.TensorProto.FLOAT, [3, 3], np.eye(3, dtype=np.float32).ravel())
    constants = [
        w,
        make.make_tensor("most", onnx.TensorProto.INT64, [1], [5]),
        make.make_tensor("overlap", onnx.TensorProto.FLOAT, [1], [0.5]),
        make.make_tensor("two", onnx.TensorProto.INT64, [1], [2]),
    ]
    nodes = [
        make.make_node("MatMul", ["w", "logits"], ["mixed"]),
        make.make_node("Sigmoid", ["mixed"], ["scores"]),
        make.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["kept"]),
        make.make_node("Gather", ["kept", "two"], ["which"], axis=1),
        make.make_node("Squeeze", ["which", "last"], ["flat"]),
        make.make_node("Gather", ["boxes", "flat"], ["found"], axis=1),
        make.make_node("Relu", ["found"], ["y"]),
    ]
    constants.append(make.make_tensor("last", onnx.TensorProto.INT64, [1], [1]))
    inputs = {"boxes": RANDOM.random((1, 20, 4)).astype(np.float32), "logits": real(1, 3, 20)}
    infos = [make.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["N", *x.shape[1:]]) for n, x in inputs.items()]
    out = [make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    graph = make.make_graph(nodes, "g", infos, out, constants)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    near(run_natively([tmp_path / "m.onnx"], inputs, tmp_path), plain_session(tmp_path / "m.onnx").run(None, inputs))
