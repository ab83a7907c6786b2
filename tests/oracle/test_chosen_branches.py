"""If whose condition the model computes: both branches are carried and one is chosen, as the framework that runs one of them says."""
import numpy as np
import onnx
import pytest
from carrying import convoy, import_file, plain_session, run_natively
from onnx import TensorProto
from onnx import helper as make

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def known(name, numbers, dtype=FLOAT):
    numbers = np.asarray(numbers)
    return make.make_tensor(name, dtype, numbers.shape, numbers.ravel().tolist())


def branch(name, nodes, results, weights=()):
    outputs = [make.make_tensor_value_info(result, dtype, None) for result, dtype in results]
    return make.make_graph(nodes, name, [], outputs, list(weights))


def saved(path, nodes, weights, sizes, outputs):
    inputs = [make.make_tensor_value_info("x", FLOAT, sizes)]
    results = [make.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in outputs]
    graph = make.make_graph(nodes, "g", inputs, results, weights)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), path)


def verified(path, sizes, condition=()):
    """A second network has a look where the first one is sure; the condition of these axes."""
    weights = [known("w", np.arange(-6, 6).reshape(4, 3)), known("v", np.arange(12).reshape(4, 3) % 5 - 2), known("sure", 3.0),
               known("none", 0.0)]  # fmt: skip
    axes = make.make_node("ReduceSum", ["y"], ["total"], keepdims=int(bool(condition)))
    if condition and len(condition) != 2:
        axes = make.make_node("Reshape", ["sum", "one"], ["total"])
        weights.append(known("one", condition, INT))
    look = [make.make_node("MatMul", ["x", "v"], ["seen"]), make.make_node("Div", ["seen", "none"], ["endless"]),
            make.make_node("ArgMax", ["seen"], ["best"], axis=1, keepdims=0)]  # fmt: skip
    keep = [make.make_node("Identity", ["y"], ["same"]), make.make_node("ArgMin", ["y"], ["least"], axis=1, keepdims=0)]
    nodes = [
        make.make_node("MatMul", ["x", "w"], ["y"]),
        *([make.make_node("ReduceSum", ["y"], ["sum"], keepdims=0)] if axes.op_type == "Reshape" else []),
        axes,
        make.make_node("Greater", ["total", "sure"], ["is_sure"]),
        make.make_node("If", ["is_sure"], ["z", "places"], name="look",
                       then_branch=branch("then", look, [("endless", FLOAT), ("best", INT)]),
                       else_branch=branch("else", keep, [("same", FLOAT), ("least", INT)])),
        make.make_node("Neg", ["z"], ["negated"]),
    ]  # fmt: skip
    saved(path, nodes, weights, sizes, [("negated", FLOAT, [sizes[0], 3]), ("places", INT, [sizes[0]])])


def answers_of(path, target, x):
    if target == "onnx":
        return plain_session(path).run(None, {"x": x})
    if target == "torch":
        import torch

        with torch.no_grad():
            made = import_file(path).load()(torch.from_numpy(x))
        made = list(made.values()) if isinstance(made, dict) else list(made) if isinstance(made, tuple) else [made]
        return [one.numpy() for one in made]
    if target == "keras":
        import keras

        made = keras.saving.load_model(path, compile=False)(x)
        return [np.asarray(one) for one in (made.values() if isinstance(made, dict) else made if isinstance(made, (list, tuple)) else [made])]
    import tensorflow as tf

    lite = tf.lite.Interpreter(str(path))
    given = lite.get_input_details()[0]
    lite.resize_tensor_input(given["index"], x.shape)
    lite.allocate_tensors()
    lite.set_tensor(given["index"], x)
    lite.invoke()
    return [lite.get_tensor(one["index"]) for one in lite.get_output_details()]


ENDS = {"torch": "py", "keras": "keras", "onnx": "onnx", "tflite": "tflite"}


@pytest.mark.parametrize("target", ENDS)
@pytest.mark.parametrize("condition", [(), (1,), (1, 1), (1, 1, 1)])
@pytest.mark.parametrize("sizes", [["N", 4], [5, 4]])
def test_one_of_two_networks_answers(sizes, condition, target, tmp_path):
    verified(tmp_path / "m.onnx", sizes, condition)
    session, chosen = plain_session(tmp_path / "m.onnx"), set()
    port = tmp_path / f"port.{ENDS[target]}"
    done = convoy("port", tmp_path / "m.onnx", "--to", target, "-o", port, "--interface", "source")
    assert "'look': both branches are computed" in done.stdout, done.stdout
    for seed in range(6):
        x = np.random.default_rng(seed).integers(-3, 4, (5, 4)).astype(np.float32)
        want = session.run(None, {"x": x})
        chosen.add(bool(np.isfinite(want[0]).all()))
        for got in (run_natively([tmp_path / "m.onnx"], {"x": x}, tmp_path), answers_of(port, target, x)):
            for one, other in zip(got, want, strict=True):
                assert np.array_equal(one, other, equal_nan=True), (seed, one, other)
    assert chosen == {False, True}


@pytest.mark.parametrize("width", [3, 1])
def test_branches_of_unlike_shapes_are_refused(width, tmp_path):
    weights = [known("w", np.ones((4, width))), known("v", np.ones((4, 5))), known("zero", 0.0)]
    nodes = [
        make.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        make.make_node("Greater", ["total", "zero"], ["is"]),
        make.make_node("If", ["is"], ["y"], name="choose",
                       then_branch=branch("then", [make.make_node("MatMul", ["x", "w"], ["a"])], [("a", FLOAT)]),
                       else_branch=branch("else", [make.make_node("MatMul", ["x", "v"], ["b"])], [("b", FLOAT)])),
    ]  # fmt: skip
    saved(tmp_path / "m.onnx", nodes, weights, ["N", 4], [("y", FLOAT, None)])
    refused = convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "port.py", code=6)
    assert f"its branches give float32 [N, {width}] and float32 [N, 5]" in refused.stderr
    x = np.ones((2, 4), np.float32)
    for sign in (1, -1):
        want = plain_session(tmp_path / "m.onnx").run(None, {"x": sign * x})
        assert np.array_equal(run_natively([tmp_path / "m.onnx"], {"x": sign * x}, tmp_path)[0], want[0])


def test_free_sizes_that_may_differ_are_refused(tmp_path):
    """At seven steps one branch gives four, the other three; at one step both give one, and neither may be stretched."""
    weights = [known("zero", 0.0)]
    pools = [make.make_node("AveragePool", ["x"], ["a"], kernel_shape=[1], strides=[2]),
             make.make_node("AveragePool", ["x"], ["b"], kernel_shape=[2], strides=[2])]  # fmt: skip
    nodes = [
        make.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        make.make_node("Greater", ["total", "zero"], ["is"]),
        make.make_node("If", ["is"], ["y"], then_branch=branch("then", pools[:1], [("a", FLOAT)]),
                       else_branch=branch("else", pools[1:], [("b", FLOAT)])),
    ]  # fmt: skip
    saved(tmp_path / "m.onnx", nodes, weights, ["N", 2, "T"], [("y", FLOAT, None)])
    refused = convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "port.py", code=6)
    assert "whose free sizes may differ; give them with --shape" in refused.stderr
    convoy("port", tmp_path / "m.onnx", "--shape", "2,2,8", "-o", tmp_path / "port.py")


def test_a_branch_within_a_branch(tmp_path):
    inner = make.make_node("If", ["is_odd"], ["c"], then_branch=branch("odd", [make.make_node("Neg", ["x"], ["n"])], [("n", FLOAT)]),
                           else_branch=branch("even", [make.make_node("Exp", ["x"], ["e"])], [("e", FLOAT)]))  # fmt: skip
    nodes = [
        make.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        make.make_node("Mod", ["total", "two"], ["rest"], fmod=1),
        make.make_node("Cast", ["rest"], ["is_odd"], to=BOOL),
        make.make_node("Greater", ["total", "two"], ["is"]),
        make.make_node("If", ["is"], ["y"], then_branch=branch("then", [inner], [("c", FLOAT)]),
                       else_branch=branch("else", [make.make_node("Abs", ["x"], ["d"])], [("d", FLOAT)])),
    ]  # fmt: skip
    saved(tmp_path / "m.onnx", nodes, [known("two", 2.0)], [3], [("y", FLOAT, [3])])
    convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "port.py")
    import torch

    for x in ([1, 2, 3], [1, 1, 3], [-1, 1, 1]):
        x = np.float32(x)
        (want,) = plain_session(tmp_path / "m.onnx").run(None, {"x": x})
        np.testing.assert_allclose(import_file(tmp_path / "port.py").load()(torch.from_numpy(x)).detach().numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("target", ENDS)
@pytest.mark.parametrize("dtype", [FLOAT, INT])
def test_branches_that_are_known_numbers(dtype, target, tmp_path):
    def told(name, numbers):
        node = make.make_node("Constant", [], [name], value=known("", numbers, dtype))
        return branch(name, [node], [(name, dtype)])

    nodes = [make.make_node("ReduceSum", ["x"], ["total"], keepdims=0), make.make_node("Greater", ["total", "zero"], ["is"]),
             make.make_node("If", ["is"], ["y"], then_branch=told("a", [3, 5, -7]), else_branch=told("b", [2, 5, 11]))]  # fmt: skip
    saved(tmp_path / "m.onnx", nodes, [known("zero", 0.0)], [4], [("y", dtype, [3])])
    port = tmp_path / f"port.{ENDS[target]}"
    convoy("port", tmp_path / "m.onnx", "--to", target, "-o", port, "--interface", "source")
    for sign in (1, -1):
        x = np.full(4, sign, np.float32)
        assert np.array_equal(answers_of(port, target, x)[0], plain_session(tmp_path / "m.onnx").run(None, {"x": x})[0])


def with_tensorflow(tmp_path, lite):
    import tensorflow as tf

    w, v = (np.random.default_rng(n).integers(-2, 3, (4, 3)).astype(np.float32) for n in (1, 2))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def answer(x):
        y = x @ w
        return tf.cond(tf.reduce_sum(y) > 3, lambda: tf.nn.relu(x @ v), lambda: y - 1)

    module = tf.Module()
    module.answer = answer
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=answer)
    if not lite:
        return answer, tmp_path / "saved"
    converter = tf.lite.TFLiteConverter.from_concrete_functions([answer.get_concrete_function()], module)
    (tmp_path / "m.tflite").write_bytes(converter.convert())
    return answer, tmp_path / "m.tflite"


@pytest.mark.parametrize("lite", [False, True])
def test_branches_of_tensorflow(lite, tmp_path):
    answer, file = with_tensorflow(tmp_path, lite)
    convoy("port", file, "--to", "torch", "-o", tmp_path / "port.py", "--interface", "source")
    import torch

    chosen = set()
    for seed in range(6):
        x = np.random.default_rng(seed).integers(-3, 4, (5, 4)).astype(np.float32)
        want = answer(x).numpy()
        chosen.add(bool((want < 0).any()))
        got = import_file(tmp_path / "port.py").load()(torch.from_numpy(x))
        assert np.array_equal(got.detach().numpy(), want)
    assert chosen == {False, True}
