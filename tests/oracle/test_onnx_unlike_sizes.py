"""Inputs whose free sizes are unlike: a port computes what ONNX Runtime does at every sizes that it accepts, or the model is refused by
name, and `convoy run` answers where it does and nowhere else."""
import numpy as np
import onnx
import pytest
import torch
from carrying import convoy, import_file, plain_session, run_natively
from onnx import TensorProto
from onnx import helper as make

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
RANDOM = np.random.default_rng(17)


def model(nodes, inputs, rank, initializers=()):
    infos = [make.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in inputs]
    result = make.make_tensor_value_info("y", FLOAT, [None] * rank)
    constants = [onnx.numpy_helper.from_array(np.asarray(numbers), name) for name, numbers in initializers]
    graph = make.make_graph(nodes, "g", infos, [result], constants)
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=10)


def reals(*shape):
    return RANDOM.integers(-9, 10, shape).astype(np.float32)


def places(below, rows, columns):
    """Unlike ones in every row."""
    return np.stack([RANDOM.permutation(below)[:columns] for _ in range(rows)]).astype(np.int64)


def node(op, inputs, **attributes):
    return make.make_node(op, inputs.split(), ["y"], **attributes)


ROWS = [("a", FLOAT, ["n", 3]), ("b", FLOAT, ["m", 3])]
PUT = [("a", FLOAT, ["n", 5]), ("i", INT, ["m", 3]), ("u", FLOAT, ["m", 3])]
THREE = np.array([3], np.int64)
OF_SUM = [make.make_node("Add", ["a", "b"], ["c"]), make.make_node("Shape", ["c"], ["s"], end=1)]


def put(rows, indices, updates):
    return {"a": reals(rows, 5), "i": places(5, indices, 3), "u": reals(updates, 3)}


def both(first, second, width=3):
    return {"a": reals(first, width), "b": reals(second, width)}


CASES = {
    "ScatterElements": (model([node("ScatterElements", "a i u", axis=1)], PUT, 2), [put(4, 4, 4), put(4, 2, 2), put(4, 1, 1), put(1, 1, 1)]),
    "ScatterElements that adds": (model([node("ScatterElements", "a i u", axis=1, reduction="add")], PUT, 2), [put(4, 4, 4), put(4, 3, 3), put(4, 1, 1)]),
    "ScatterElements at known places": (
        model([node("ScatterElements", "a i u", axis=0)], [("a", FLOAT, ["n", 3]), ("u", FLOAT, ["m", 3])], 2, [("i", np.array([[0, 1, 0], [1, 0, -1]]))]),
        [{"a": reals(4, 3), "u": reals(2, 3)}, {"a": reals(2, 3), "u": reals(2, 3)}]),
    "ScatterND at known places": (
        model([node("ScatterND", "a i u")], [("a", FLOAT, ["n", 3]), ("u", FLOAT, ["m", 3])], 2, [("i", np.array([[1], [-1]]))]),
        [{"a": reals(4, 3), "u": reals(2, 3)}, {"a": reals(3, 3), "u": reals(2, 3)}]),
    "GatherElements": (
        model([node("GatherElements", "a i", axis=1)], [("a", FLOAT, ["n", 5]), ("i", INT, ["m", 2])], 2),
        [{"a": reals(4, 5), "i": places(5, rows, 2)} for rows in (4, 2, 1)]),
    "GatherElements behind a sum": (
        model([OF_SUM[0], node("GatherElements", "c i", axis=1)], [*ROWS, ("i", INT, ["n", 2])], 2),
        [{**both(*rows), "i": places(3, rows[0], 2)} for rows in [(2, 2), (1, 4), (4, 1)]]),
    "as many as a sum": (
        model([*OF_SUM, make.make_node("Concat", ["s", "three"], ["to"], axis=0), node("Expand", "row to")], ROWS, 2, [("three", THREE), ("row", reals(1, 3))]),
        [both(2, 2), both(1, 4), both(4, 1)]),
    "the mean of a sum": (
        model([*OF_SUM, make.make_node("Cast", ["s"], ["count"], to=FLOAT), make.make_node("ReduceSum", ["c", "first"], ["all"], keepdims=0), node("Div", "all count")], ROWS, 1,
              [("first", np.array([0]))]),
        [both(2, 2), both(1, 4), both(4, 1)]),
    "a sum as its first summand": (
        model([OF_SUM[0], make.make_node("Shape", ["c"], ["to"]), make.make_node("Expand", ["a", "to"], ["e"]), node("Mul", "e c")], ROWS, 2),
        [both(2, 2), both(1, 4), both(4, 1)]),
}


def answered(path, target, given):
    if target == "onnx":
        session = plain_session(path)
        return session.run(None, dict(zip([i.name for i in session.get_inputs()], given.values())))[0]
    if target == "py":
        with torch.no_grad():
            return import_file(path).load()(*[torch.from_numpy(x.copy()) for x in given.values()]).numpy()
    import keras

    net = keras.saving.load_model(path)
    inputs = [given[i.name] for i in net.inputs]
    return np.asarray(net(inputs if len(inputs) > 1 else inputs[0]))


@pytest.mark.parametrize("target", ["run", "py", "onnx", "keras"])
@pytest.mark.parametrize("name", CASES)
def test_sizes_that_are_unlike(name, target, tmp_path):
    made, all_given = CASES[name]
    path, port = tmp_path / "m.onnx", tmp_path / f"p.{target}"
    onnx.save(made, path)
    if target != "run":
        convoy("port", path, "-o", port, "--interface", "source")
    for given in all_given:
        want = plain_session(path).run(None, given)[0]
        got = run_natively([path], given, tmp_path)[0] if target == "run" else answered(port, target, given)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


ROW = [("a", FLOAT, ["n", 5]), ("i", INT, ["m", 1]), ("u", FLOAT, ["k", 5])]
REFUSED = {
    "more indices than rows": (model([node("ScatterElements", "a i u", axis=1)], PUT, 2), put(1, 4, 4)),
    "more updates than indices": (model([node("ScatterElements", "a i u", axis=1)], [*PUT[:2], ("u", FLOAT, ["k", 3])], 2), put(4, 2, 3)),
    "more rows than places": (model([node("ScatterND", "a i u")], ROW, 2), {"a": reals(4, 5), "i": places(4, 1, 2).T.copy(), "u": reals(3, 5)}),
    "one row for two places": (model([node("ScatterND", "a i u", reduction="add")], ROW, 2), {"a": reals(4, 5), "i": places(4, 1, 2).T.copy(), "u": reals(1, 5)}),
    "C larger than the product": (
        model([node("Gemm", "a b c")], [("a", FLOAT, ["n", 4]), ("b", FLOAT, [4, 3]), ("c", FLOAT, ["m", 3])], 2), {"a": reals(1, 4), "b": reals(4, 3), "c": reals(3, 3)}),
    "lengths of fewer sequences": (
        model([make.make_node("GRU", ["a", "w", "r", "", "l"], ["y"], hidden_size=2)], [("a", FLOAT, ["t", "n", 3]), ("l", TensorProto.INT32, ["m"])], 4, [("w", reals(1, 6, 3)), ("r", reals(1, 6, 2))]),
        {"a": reals(3, 2, 3), "l": np.array([2], np.int32)}),
    "a sum as long as its first summand": (
        model([OF_SUM[0], make.make_node("Shape", ["a"], ["to"]), node("Reshape", "c to")], ROWS, 2), both(1, 4)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnx_runtime_refuses_has_no_answer(name, tmp_path):
    made, given = REFUSED[name]
    path = tmp_path / "m.onnx"
    onnx.save(made, path)
    with pytest.raises(Exception):
        plain_session(path).run(None, given)
    arguments = []
    for word, x in given.items():
        np.save(tmp_path / f"{word}.npy", x)
        arguments += ["--input", f"{word}={tmp_path / word}.npy"]
    done = convoy("run", path, *arguments, "-o", tmp_path / "y.npz", code=None)
    assert done.returncode in (2, 5), done.stdout


def test_counts_are_rounded_as_their_type_is(tmp_path):
    """10 times 0.7 in float32 are 7, although its factor is a bit less than 0.7."""
    nodes = [make.make_node("Shape", ["a"], ["n"], end=1), make.make_node("Cast", ["n"], ["real"], to=FLOAT), make.make_node("Mul", ["real", "part"], ["some"]),
             make.make_node("Floor", ["some"], ["whole"]), make.make_node("Cast", ["whole"], ["count"], to=INT), node("Slice", "a zero count zero")]
    made = model(nodes, [("a", FLOAT, ["n", 3])], 2, [("part", np.array([0.7], np.float32)), ("zero", np.array([0]))])
    onnx.save(made, tmp_path / "m.onnx")
    for n in (1, 3, 10, 20, 30, 47, 100):
        given = {"a": reals(n, 3)}
        want = plain_session(tmp_path / "m.onnx").run(None, given)[0]
        np.testing.assert_array_equal(run_natively([tmp_path / "m.onnx"], given, tmp_path)[0], want)
    assert "not followed through node 'whole' (Floor)" in convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "p.py", code=6).stderr


def test_the_least_of_several_sizes_and_parts_without_numbers(tmp_path):
    """x cut to the least of its sizes, of 2 at most, behind a count that is empty at every size."""
    sizes = [make.make_node("Shape", ["x"], [name], start=i, end=i + 1) for i, name in enumerate("nmk")]
    nodes = [*sizes, make.make_node("Min", ["n", "m", "k"], ["least"]), make.make_node("Clip", ["least", "", "two"], ["count"]),
             make.make_node("Slice", ["x", "zero", "count", "zero"], ["part"]), make.make_node("ReduceSum", ["part", "others"], ["sums"], keepdims=0),
             make.make_node("Squeeze", ["n"], ["from"]), make.make_node("Range", ["from", "none", "one"], ["empty"]), make.make_node("Cast", ["empty"], ["nothing"], to=FLOAT),
             make.make_node("Concat", ["nothing", "sums"], ["y"], axis=0)]
    constants = [("two", np.int64(2)), ("zero", np.array([0])), ("others", np.array([1, 2])), ("none", np.int64(0)), ("one", np.int64(1))]
    path = tmp_path / "m.onnx"
    onnx.save(model(nodes, [("x", FLOAT, ["n", "m", "k"])], 1, constants), path)
    for target in ("py", "onnx"):
        convoy("port", path, "-o", tmp_path / f"p.{target}", "--interface", "source")
    for shape in [(2, 3, 4), (5, 1, 3), (4, 3, 2), (3, 3, 1)]:
        given = {"x": reals(*shape)}
        want = plain_session(path).run(None, given)[0]
        for got in (answered(tmp_path / f"p.{target}", target, given) for target in ("py", "onnx")):
            np.testing.assert_array_equal(got, want)
