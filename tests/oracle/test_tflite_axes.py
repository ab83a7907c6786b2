"""More axes than the interpreter's kernels take: a file that is written runs, with XNNPACK and without, and answers as ONNX Runtime."""
import numpy as np
import onnx
import pytest
from carrying import convoy, plain_session
from onnx import TensorProto
from onnx import helper as make

RANDOM = np.random.default_rng(3)
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def sizes_of(axes):
    return [2, 3, 2, 3, 2, 2, 3, 2][:axes]


def known(name, numbers, dtype=FLOAT):
    numbers = np.asarray(numbers)
    return make.make_tensor(name, dtype, numbers.shape, numbers.ravel().tolist())


def one(operator, inputs=(), **said):
    return [make.make_node(operator, ["x", *inputs], ["y"], **said)], []


def with_number(operator, shape, number=2.0):
    return [make.make_node(operator, ["x", "n"], ["y"])], [known("n", np.full(shape, number))]


def placed(operator, **places):
    nodes = [make.make_node(operator, ["x", *places], ["y"])]
    return nodes, [known(name, numbers, INT) for name, numbers in places.items()]


def cases(axes):
    sizes = sizes_of(axes)
    half = [size if i % 2 else 1 for i, size in enumerate(sizes)]
    ends = [1, sizes[1], *[1] * (axes - 3), sizes[-1]]
    yield "turned", one("Transpose", perm=[0, *range(2, axes), 1])
    yield "turned_in_pairs", one("Transpose", perm=[axes - 2, axes - 1, *range(axes - 2)])
    yield "padded", placed("Pad", pads=[0, 1, *[0] * (axes - 1), 2, *[0] * (axes - 3), 1])
    yield "mirrored", ([make.make_node("Pad", ["x", "p"], ["y"], mode="reflect")], [known("p", [1] * axes + [0] * axes, INT)])
    yield "cut", placed("Slice", begins=[1, -1], ends=[3, -100], axes=[1, axes - 2], steps=[1, -1])
    yield "summed", ([make.make_node("ReduceSum", ["x", "a"], ["y"], keepdims=0)], [known("a", [1, axes - 1], INT)])
    yield "averaged", one("ReduceMean", axes=[0, 1, axes - 1], keepdims=1)
    yield "largest", one("ReduceMax", axes=[axes - 2, axes - 1], keepdims=0)
    yield "matrix", ([make.make_node("MatMul", ["x", "w"], ["y"])], [known("w", RANDOM.integers(-2, 3, [sizes[-1], 4]).astype(float))])
    yield "matrices", ([make.make_node("Transpose", ["x"], ["t"], perm=[*range(axes - 2), axes - 1, axes - 2]),
                        make.make_node("MatMul", ["x", "t"], ["y"])], [])  # fmt: skip
    yield "joined", ([make.make_node("Concat", ["x", "x"], ["y"], axis=2)], [])
    yield "softmax", one("Softmax", axis=axes - 1)
    yield "softmax_elsewhere", one("Softmax", axis=1)
    yield "log_softmax", one("LogSoftmax", axis=axes - 1)
    for operator in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"):
        yield operator + "_each_second", with_number(operator, half)
        yield operator + "_at_the_ends", with_number(operator, ends)
        yield operator + "_of_one", with_number(operator, ())
    yield "chosen", ([make.make_node("Greater", ["x", "n"], ["c"]), make.make_node("Where", ["c", "x", "n"], ["y"])], [known("n", np.ones(half))])
    yield "compared", ([make.make_node("LessOrEqual", ["x", "n"], ["c"]), make.make_node("Cast", ["c"], ["y"], to=FLOAT)],
                       [known("n", np.ones(ends))])  # fmt: skip
    for operator in ("Relu", "LeakyRelu", "Celu", "Selu", "HardSigmoid", "HardSwish", "Softplus", "Sigmoid"):
        yield operator, one(operator)
    yield "prelu", ([make.make_node("PRelu", ["x", "n"], ["y"])], [known("n", RANDOM.random([sizes[1], *[1] * (axes - 2)]))])
    yield "clipped", ([make.make_node("Clip", ["x", "a", "b"], ["y"])], [known("a", -1.0), known("b", 1.5)])
    yield "normalized", ([make.make_node("LayerNormalization", ["x", "g", "n"], ["y"], axis=axes - 2)],
                         [known("g", RANDOM.random(sizes[-2:])), known("n", RANDOM.random(sizes[-2:]))])  # fmt: skip
    yield "batch", ([make.make_node("BatchNormalization", ["x", "g", "n", "n", "g"], ["y"])],
                    [known("g", RANDOM.random(sizes[1]) + 1), known("n", RANDOM.random(sizes[1]))])  # fmt: skip


def in_tflite(path, x, kind):
    import tensorflow as tf

    lite = tf.lite.Interpreter(str(path), experimental_op_resolver_type=getattr(tf.lite.experimental.OpResolverType, kind))
    (given,) = lite.get_input_details()
    lite.resize_tensor_input(given["index"], x.shape)
    lite.allocate_tensors()
    lite.set_tensor(given["index"], x)
    lite.invoke()
    return lite.get_tensor(lite.get_output_details()[0]["index"])


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("axes", [5, 6, 7, 8])
def test_what_is_written_runs(axes, free, tmp_path):
    refused = []
    for name, (nodes, weights) in cases(axes):
        sizes = sizes_of(axes)
        inputs = [make.make_tensor_value_info("x", FLOAT, ["N", *sizes[1:]] if free else sizes)]
        graph = make.make_graph(nodes, "g", inputs, [make.make_tensor_value_info("y", FLOAT, None)], weights)
        onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
        done = convoy("port", tmp_path / "m.onnx", "--to", "tflite", "-o", tmp_path / "m.tflite", "--force", "--interface", "source", code=None)
        if done.returncode == 6 and free:
            refused.append(name)
            assert "has no form in TFLite" in done.stderr or "not known beforehand" in done.stderr, done.stderr
            continue
        assert done.returncode == 0, (name, done.stderr)
        x = RANDOM.integers(0 if "Pow" in name else -3, 4, sizes).astype(np.float32)
        (want,) = plain_session(tmp_path / "m.onnx").run(None, {"x": x})
        for kind in ("AUTO", "BUILTIN_WITHOUT_DEFAULT_DELEGATES"):
            np.testing.assert_allclose(in_tflite(tmp_path / "m.tflite", x, kind), want, rtol=1e-5, atol=1e-5, err_msg=f"{name} {kind}")
    assert len(refused) <= 12, refused


def test_slopes_of_every_second_axis_are_refused(tmp_path):
    nodes, weights = [make.make_node("PRelu", ["x", "n"], ["y"])], [known("n", np.ones([1, 3, 1, 5, 1]))]
    graph = make.make_graph(nodes, "g", [make.make_tensor_value_info("x", FLOAT, [2, 3, 4, 5, 6])],
                            [make.make_tensor_value_info("y", FLOAT, None)], weights)  # fmt: skip
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    done = convoy("port", tmp_path / "m.onnx", "--to", "tflite", "-o", tmp_path / "m.tflite", code=6)
    assert "PRELU to" in done.stderr


@pytest.mark.parametrize("axes", [7, 8])
def test_what_stays_too_many_is_refused(axes, tmp_path):
    graph = make.make_graph([make.make_node("Transpose", ["x"], ["y"], perm=list(range(axes))[::-1])], "g",
                            [make.make_tensor_value_info("x", FLOAT, sizes_of(axes))], [make.make_tensor_value_info("y", FLOAT, None)])  # fmt: skip
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    done = convoy("port", tmp_path / "m.onnx", "--to", "tflite", "-o", tmp_path / "m.tflite", code=6)
    assert "TRANSPOSE to" in done.stderr and "takes 6 axes" in done.stderr
