"""Functions that an ONNX model brings along: what ONNX Runtime answers, whoever calls whom and whatever is called alike."""
import numpy as np
import onnx
import pytest
from carrying import convoy, import_file, plain_session
from onnx import TensorProto
from onnx import helper as make
from onnx.reference import ReferenceEvaluator

OPSETS = [make.make_opsetid("", 17), make.make_opsetid("own", 1)]
X = np.random.default_rng(2).normal(size=(3, 4)).astype("float32")


def call(kind, inputs, outputs, **attributes):
    return make.make_node(kind, inputs, outputs, domain="own", **attributes)


def said(node, own: str, outer: str, kind):
    """The attribute `own` of a body's node is the function's `outer`."""
    node.attribute.append(onnx.AttributeProto(name=own, ref_attr_name=outer, type=kind))
    return node


def function(name, inputs, outputs, nodes, attributes=(), usual=(), opsets=OPSETS):
    made = make.make_function("own", name, list(inputs), list(outputs), nodes, opsets, list(attributes))
    made.attribute_proto.extend(usual)
    return made


def constant(name, number):
    return make.make_node("Constant", [], [name], value=make.make_tensor(name, TensorProto.FLOAT, [], [number]))


SWISH = function("Swish", ["x"], ["y"], [make.make_node("Sigmoid", ["x"], ["t"]), make.make_node("Mul", ["x", "t"], ["y"])])
LEAKY = function("Leaky", ["x"], ["y"], [said(make.make_node("LeakyRelu", ["x"], ["y"]), "alpha", "slope", onnx.AttributeProto.FLOAT)],
                 usual=[make.make_attribute("slope", 0.25)])  # fmt: skip
ELU = function("Bent", ["x"], ["y"], [said(make.make_node("Elu", ["x"], ["y"]), "alpha", "slope", onnx.AttributeProto.FLOAT)], ["slope"])
TWICE = function("Twice", ["a"], ["y", "t"], [call("Swish", ["a"], ["t"]), call("Swish", ["t"], ["y"])])
CLIPPED = function("Clipped", ["x", "low", "high"], ["y"], [make.make_node("Clip", ["x", "low", "high"], ["y"])])
HANDED = function("Handed", ["a", "b"], ["a", "s"], [make.make_node("Sub", ["a", "b"], ["s"])])


def branching():
    """A body whose branches read its own names, under names that the graph around has as well."""
    branch = lambda kind: make.make_graph([make.make_node(kind, ["t", "one"], ["r"])], kind, [], [make.make_tensor_value_info("r", TensorProto.FLOAT, None)])
    nodes = [constant("one", 2.0), make.make_node("Neg", ["x"], ["t"]), constant("zero", 0.0),
             make.make_node("Constant", [], ["yes"], value=make.make_tensor("yes", TensorProto.BOOL, [], [True])),
             make.make_node("If", ["yes"], ["y"], then_branch=branch("Add"), else_branch=branch("Mul"))]  # fmt: skip
    return function("Branching", ["x"], ["y"], nodes)


CASES = {
    "one": ([SWISH], [call("Swish", ["x"], ["y"])]),
    "two_calls": ([SWISH], [call("Swish", ["x"], ["t"]), call("Swish", ["t"], ["y"])]),
    "names_of_the_graph": ([SWISH], [make.make_node("Neg", ["x"], ["t"]), call("Swish", ["t"], ["s"]), make.make_node("Add", ["s", "t"], ["y"])]),
    "a_call_in_a_body": ([SWISH, TWICE], [call("Twice", ["x"], ["p", "q"]), make.make_node("Sub", ["p", "q"], ["y"])]),
    "usual": ([LEAKY], [call("Leaky", ["x"], ["y"])]),
    "given": ([LEAKY], [call("Leaky", ["x"], ["y"], slope=0.5)]),
    "left_out": ([ELU], [call("Bent", ["x"], ["y"])]),
    "absent_input": ([CLIPPED], [constant("m", 0.5), call("Clipped", ["x", "", "m"], ["y"])]),
    "inputs_left_out": ([CLIPPED], [constant("m", -0.5), call("Clipped", ["x", "m"], ["y"])]),
    "branches": ([branching()], [make.make_node("Abs", ["x"], ["one"]), call("Branching", ["one"], ["y"])]),
    "results_handed_on": ([HANDED], [make.make_node("Neg", ["x"], ["n"]), call("Handed", ["x", "n"], ["p", "q"]), make.make_node("Sub", ["p", "q"], ["y"])]),
    "one_result": ([SWISH, TWICE], [call("Twice", ["x"], ["y"])]),
}
# ONNX Runtime does not load these; ONNX's own evaluator does.
NOT_LOADED = ("results_handed_on", "one_result")


def model(functions, nodes):
    floats = lambda name: make.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4])
    return make.make_model(make.make_graph(nodes, "g", [floats("x")], [floats("y")]), functions=functions, opset_imports=OPSETS, ir_version=8)


@pytest.mark.parametrize("name", CASES)
def test_a_function_is_its_body(name, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(model(*CASES[name]), path)
    want = (ReferenceEvaluator(str(path)) if name in NOT_LOADED else plain_session(path)).run(None, {"x": X})[0]
    convoy("port", path, "-o", tmp_path / "p.onnx")
    convoy("port", path, "-o", tmp_path / "p.py")
    import torch

    np.testing.assert_allclose(plain_session(tmp_path / "p.onnx").run(None, {"x": X})[0], want, atol=1e-6)
    np.testing.assert_allclose(import_file(tmp_path / "p.py").load()(torch.from_numpy(X)).detach().numpy(), want, atol=1e-6)


def test_what_is_no_sound_function_is_refused(tmp_path):
    path = tmp_path / "m.onnx"
    endless = function("Swish", ["x"], ["y"], [call("Swish", ["x"], ["y"])])
    doubling = [function(f"F{i}", ["x"], ["y"], [call(f"F{i + 1}", ["x"], ["t"]), call(f"F{i + 1}", ["t"], ["y"])]) for i in range(40)]
    doubling.append(function("F40", ["x"], ["y"], [make.make_node("Neg", ["x"], ["y"])]))
    older = function("Swish", ["x"], ["y"], [make.make_node("Sigmoid", ["x"], ["y"])], opsets=[make.make_opsetid("", 12)])
    for functions, nodes, code, why in [
        ([endless], [call("Swish", ["x"], ["y"])], 5, "call each other"),
        (doubling, [call("F0", ["x"], ["y"])], 6, "over the budget"),
        ([older], [call("Swish", ["x"], ["y"])], 6, "operator set 12"),
        ([SWISH], [call("Swish", ["x", "x"], ["y"])], 5, "gives 2 inputs"),
        ([], [call("Swish", ["x"], ["y"])], 6, "domain 'own'"),
    ]:
        onnx.save(model(functions, nodes), path)
        done = convoy("port", path, "-o", tmp_path / "p.onnx", code=None)
        assert why in done.stderr, done.stderr
        assert done.returncode == code, done.stderr
