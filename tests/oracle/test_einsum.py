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


PRODUCTS = {
    "vectors_in_a_batch": ("bn,bnd->bd", (3, 4), (3, 4, 5)),
    "vectors_behind": ("bnd,bn->db", (3, 4, 5), (3, 4)),
    "a_weighted_sum": ("d,bnd->bn", (5,), (3, 4, 5)),
    "outer": ("bi,bj->bij", (3, 4), (3, 5)),
    "outer_turned": ("bi,bj->jbi", (3, 4), (3, 5)),
    "outer_without_a_batch": ("i,jk->kij", (4,), (3, 5)),
    "cells": ("bij,bij->bij", (2, 3, 4), (2, 3, 4)),
    "cells_summed": ("bij,bij->b", (2, 3, 4), (2, 3, 4)),
    "cells_of_unlike_orders": ("bij,jib->bi", (2, 3, 4), (4, 3, 2)),
    "one_number": ("i,i->", (4,), (4,)),
    "stretched": ("bij,j->bij", (2, 3, 4), (4,)),
    "matrices": ("bik,bkj->bji", (2, 3, 4), (2, 4, 5)),
}


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_two_operands(name, free, tmp_path):
    from onnx import TensorProto, helper, save

    equation, a, b = PRODUCTS[name]
    first = equation.split(",")[0]
    if free and "b" not in first:
        pytest.skip("has no batch")
    inputs = {"x": numbers(*a, seed=1), "y": numbers(*b, seed=2)}
    sides = equation.split("->")[0].split(",")
    shapes = [["N" if free and letter == "b" else size for letter, size in zip(side, shape)] for side, shape in zip(sides, (a, b))]
    graph = helper.make_graph(
        [helper.make_node("Einsum", ["x", "y"], ["z"], equation=equation)], "einsum",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip("xy", shapes)],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    )  # fmt: skip
    path = tmp_path / "einsum.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    everywhere(path, inputs, session(path, False).run(None, inputs), tmp_path)
