"""Reshapes whose sizes are computed from several that are free, as torch.onnx writes views: what ONNX Runtime answers at sizes that the
port was not proved at."""
import numpy as np
import onnx
import pytest
import torch
from carrying import convoy, import_file, plain_session
from onnx import helper as make

SIZES = [(1, 1), (2, 5), (3, 7), (5, 2)]


def built(path, shape, target, allowzero):
    """x of `shape` under sizes that are products of a number and of x's: ("N", 3) is three times the first."""
    nodes, tensors, parts = [], [], []
    for name in "NT":
        axis = shape.index(name)
        nodes.append(make.make_node("Shape", ["x"], [name], start=axis, end=axis + 1))
    for i, size in enumerate(target):
        name, factor = size if isinstance(size, tuple) else (size, 1)
        number = factor if isinstance(name, str) else name
        tensors.append(make.make_tensor(f"c{i}", onnx.TensorProto.INT64, [1], [number]))
        parts.append(f"c{i}")
        if isinstance(name, str):
            nodes.append(make.make_node("Mul", [name, f"c{i}"], [f"s{i}"]))
            parts[-1] = f"s{i}" if factor != 1 else name
    nodes += [make.make_node("Concat", parts, ["to"], axis=0), make.make_node("Reshape", ["x", "to"], ["r"], allowzero=allowzero),
              make.make_node("Relu", ["r"], ["y"])]
    info = make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    result = make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None] * len(target))
    graph = make.make_graph(nodes, "g", [info], [result], tensors)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=10), path)


CASES = {
    "the first stays": (["N", "T", 6], ["N", 4, -1], 1),
    "both stay": (["N", "T", 6], ["N", "T", 2, 3], 1),
    "a product": (["N", "T", 6], ["N", ("T", 3), 2], 1),
    "what stays is brought to the left": (["N", 6, "T", 2], [("N", 2), 3, "T", 2], 1),
    "one axis apart": (["NT", 6], ["N", "T", 6], 1),
    "two axes apart otherwise": (["N", "T", 6], ["T", "N", 6], 0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_reshape_by_free_sizes(name, tmp_path):
    shape, target, allowzero = CASES[name]
    path = tmp_path / "m.onnx"
    if shape[0] == "NT":  # as what attention leaves: rows of a product, apart again
        whole = tmp_path / "whole.onnx"
        built(whole, ["N", "T", 6], target, allowzero)
        model = onnx.load(whole)
        flat = make.make_tensor("flat", onnx.TensorProto.INT64, [2], [-1, 6])
        model.graph.initializer.append(flat)
        model.graph.node.insert(0, make.make_node("Reshape", ["x", "flat"], ["rows"]))
        next(n for n in model.graph.node if n.output[0] == "r").input[0] = "rows"
        onnx.save(model, path)
        shape = ["N", "T", 6]
    else:
        built(path, shape, target, allowzero)
    convoy("port", path, "-o", tmp_path / "p.py")
    convoy("port", path, "-o", tmp_path / "p.onnx")
    net, session, ported = import_file(tmp_path / "p.py").load(), plain_session(path), plain_session(tmp_path / "p.onnx")
    for n, t in SIZES:
        if name == "the first stays" and t % 2:
            continue
        x = np.arange(-7, -7 + n * t * int(np.prod([s for s in shape if isinstance(s, int)])), dtype=np.float32)
        x = x.reshape([{"N": n, "T": t}.get(s, s) for s in shape])
        want = session.run(None, {"x": x})[0]
        with torch.no_grad():
            np.testing.assert_array_equal(net(torch.from_numpy(x.copy())).numpy(), want)
        np.testing.assert_array_equal(ported.run(None, {"x": x})[0], want)


class Last(torch.nn.Module):
    """The last step, and the last but one beside the first, of a length that is free."""

    def __init__(self):
        super().__init__()
        self.walk = torch.nn.LSTM(5, 4, batch_first=True)

    def forward(self, x):
        steps = self.walk(x)[0]
        return steps[:, -1], steps[:, torch.tensor([0, -2])]


class Placed(torch.nn.Module):
    """Tokens with what stands for their places, counted up to a length that is free, from 0 and from 1."""

    def __init__(self):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(9, 4), torch.nn.Embedding(32, 4)

    def forward(self, ids):
        n = ids.shape[1]
        return self.words(ids) + self.places(torch.arange(n)), self.places(torch.arange(1, n + 1)).sum(1)


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("model, drawn", [(Last, lambda n, t: torch.randn(n, t, 5)), (Placed, lambda n, t: torch.randint(0, 9, (n, t)))])
def test_places_of_a_free_length(model, drawn, dynamo, tmp_path):
    torch.manual_seed(5)
    net, path = model().eval(), tmp_path / "m.onnx"
    if dynamo:
        pytest.importorskip("onnxscript")
        axes = {"dynamic_shapes": ({0: torch.export.Dim("n"), 1: torch.export.Dim("t", min=2)},)}
    else:
        axes = {"dynamic_axes": {"x": {0: "n", 1: "t"}}}
    torch.onnx.export(net, (drawn(2, 6),), str(path), input_names=["x"], dynamo=dynamo, **axes)
    for port in ("p.py", "p.onnx", "p.keras"):
        convoy("port", path, "-o", tmp_path / port, "--interface", "source")
    import keras

    torch_port, onnx_port, keras_port = import_file(tmp_path / "p.py").load(), plain_session(tmp_path / "p.onnx"), keras.saving.load_model(tmp_path / "p.keras")
    for n, t in [(1, 2), (3, 9), (2, 4)]:
        x = drawn(n, t)
        with torch.no_grad():
            want, ours = net(x), torch_port(x)
        name = onnx_port.get_inputs()[0].name
        for got in (ours, onnx_port.run(None, {name: x.numpy()}), keras_port(x.numpy())):
            for one, right in zip(got, want):
                np.testing.assert_allclose(np.asarray(one), right.numpy(), atol=2e-5)


def test_a_size_of_0_that_the_file_says_is_refused(tmp_path):
    built(tmp_path / "m.onnx", ["N", "T", 6], ["N", 0, -1, 2], 1)
    assert "allowzero" in convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "p.py", code=6).stderr


@pytest.mark.parametrize("word", ["kept", "from"])
def test_the_readers_words_are_none_of_a_files(word, tmp_path):
    built(tmp_path / "m.onnx", ["N", "T", 6], ["N", "T", 2, 3], 0)
    model = onnx.load(tmp_path / "m.onnx")
    next(n for n in model.graph.node if n.op_type == "Reshape").attribute.append(make.make_attribute(word, [7, 9]))
    onnx.save(model, tmp_path / "n.onnx")
    assert f"'{word}' is not understood" in convoy("port", tmp_path / "n.onnx", "-o", tmp_path / "p.py", code=6).stderr
