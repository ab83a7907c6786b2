"""Einsum of one operand: diagonals, axes that no letter names, sums and orders, against ONNX Runtime; and carried on."""
import pytest
from test_onnx_written import session
from test_recurrent import everywhere, numbers

CASES = {
    "diagonals": ("...ii->...i", (2, 3, 4, 4)),
    "trace": ("bii->b", (2, 5, 5)),
    "diagonal_in_the_middle": ("biij->bji", (2, 3, 3, 4)),
    "dots_in_front": ("...ij->...ji", (2, 3, 4, 5)),
    "dots_in_the_middle": ("b...c->c...b", (2, 3, 4, 5)),
    "sums": ("bij->bj", (2, 3, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_one_operand(name, tmp_path):
    from onnx import TensorProto, helper, save

    equation, shape = CASES[name]
    inputs = {"x": numbers(*shape, seed=1)}
    graph = helper.make_graph(
        [helper.make_node("Einsum", ["x"], ["y"], equation=equation)], "einsum",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    path = tmp_path / "einsum.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    everywhere(path, inputs, session(path, False).run(None, inputs), tmp_path)
