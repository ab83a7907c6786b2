"""Whole numbers of 64 bits beyond 2^53, which no float64 holds: `convoy run` answers as ONNX Runtime and PyTorch do."""
import numpy as np
import pytest
from carrying import convoy, plain_session, run_natively

ODD = 2**53 + 1
X = np.int64([[ODD, -ODD, 2**62 + 1, -(2**62) - 3, 7, -(2**63) + 1]])
ONE_NODE = {
    "Neg": ({}, ()),
    "Abs": ({}, ()),
    "Sign": ({}, ()),
    "Relu": ({}, ()),
    "Transpose": ({}, ()),
    "ArgMax": ({"axis": 1}, ()),
    "Clip": ({}, (np.int64(-ODD - 1), np.int64(ODD))),
    "TopK": ({}, (np.int64([3]),)),
    "Gather": ({"axis": 1}, (np.int64([1, 0]),)),
    "Expand": ({}, (np.int64([2, 6]),)),
    "MatMul": ({}, (np.ones((6, 1), np.int64),)),
    "Mod": ({"fmod": 1}, (np.int64(3),)),
    "Pad": ({}, (np.int64([0, 1, 0, 1]), np.int64(-3))),
    "Max": ({}, (np.int64(ODD + 2),)),
}


def one_node(name, attributes, constants, path):
    onnx = pytest.importorskip("onnx")
    names = [f"c{place}" for place in range(len(constants))]
    outputs = ["y", "places"] if name == "TopK" else ["y"]
    held = [onnx.numpy_helper.from_array(one, word) for one, word in zip(constants, names)]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(name, ["x", *names], outputs, **attributes)], "graph",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.INT64, X.shape)],
        [onnx.helper.make_tensor_value_info(one, onnx.TensorProto.INT64, None) for one in outputs], held)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), path)


@pytest.mark.parametrize("name", ONE_NODE)
def test_as_onnx_runtime(name, tmp_path):
    one_node(name, *ONE_NODE[name], tmp_path / "model.onnx")
    wanted = plain_session(tmp_path / "model.onnx").run(None, {"x": X})
    for answer, right in zip(run_natively([tmp_path / "model.onnx"], {"x": X}, tmp_path), wanted, strict=True):
        assert answer.dtype == right.dtype
        np.testing.assert_array_equal(answer, right)


def test_a_fill_that_no_float64_is_is_refused(tmp_path):
    one_node("Pad", {}, (np.int64([0, 1, 0, 1]), np.int64(ODD)), tmp_path / "model.onnx")
    refused = convoy("port", tmp_path / "model.onnx", "-o", tmp_path / "port.py", code=6)
    assert f"input 'constant_value' holds {ODD}" in refused.stderr


def test_as_pytorch(tmp_path):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x):
            moved = torch.cat([x.abs().T, torch.where(x > 5, x, -x).T], 1).clamp(min=-(2**53) - 1)
            return moved.argmax(0), moved.sort(0)[0][:, 0], moved @ torch.ones_like(x[:, :2]).T, torch.fmod(moved, 10)

    torch.export.save(torch.export.export(Net(), (torch.from_numpy(X),)), str(tmp_path / "net.pt2"))
    wanted = [one.numpy() for one in Net()(torch.from_numpy(X))]
    answers = run_natively([tmp_path / "net.pt2"], {"x": X}, tmp_path)
    for answer, right in zip(answers, wanted, strict=True):
        assert answer.dtype == right.dtype
        np.testing.assert_array_equal(answer, right)
