"""What `convoy run` answers where shapes, element types and names meet at their edges, beside the frameworks."""
import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
import torch
from carrying import assert_close, convoy, plain_session, run_natively
from onnx import TensorProto
from onnx import helper as make
from onnx import numpy_helper


def model(nodes, shape, path, outputs=("y",), dtype=TensorProto.FLOAT, **constants):
    graph = make.make_graph(
        nodes,
        "g",
        [make.make_tensor_value_info("x", dtype, shape)],
        [make.make_tensor_value_info(name, dtype, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), path)
    return path


def answer(path, x):
    return plain_session(path).run(None, {"x": x})


WHOLE_AXES = {
    "one_channel": ([1, 1, 4, 5], [("Slice", ["x", "zero", "one", "one"], "t")], "t", 2),
    "behind_transpose": ([1, 2, 3, 6], [("Transpose", ["x"], "u"), ("Slice", ["u", "zero", "most", "last"], "t")], "t", 1),
}


@pytest.mark.parametrize("name", WHOLE_AXES)
def test_a_slice_that_takes_all_of_an_axis(name, tmp_path):
    shape, steps, sliced, axis = WHOLE_AXES[name]
    nodes = [make.make_node("Relu", ["x"], ["r"])]
    nodes += [make.make_node(op, ["r" if i == "x" else i for i in given], [out]) for op, given, out in steps]
    nodes += [make.make_node("Reshape", [sliced, "flat"], ["f"]), make.make_node("Softmax", ["f"], ["s"], axis=axis)]
    nodes += [make.make_node("Sub", ["f", "s"], ["y"])]
    flat = [1, shape[1] * shape[2], shape[3]] if name == "one_channel" else [6, -1]
    constants = {"zero": [0], "one": [1], "most": [2**40], "last": [3], "flat": flat}
    path = model(nodes, shape, tmp_path / "m.onnx", **{k: np.int64(v) for k, v in constants.items()})
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7 - 2
    (got,), (want,) = run_natively([path], {"x": x}, tmp_path), answer(path, x)
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool"])
def test_whole_numbers_for_a_model_of_real_ones(dtype, tmp_path):
    nodes = [make.make_node("Pad", ["x", "pads", "half"], ["p"]), make.make_node("Mul", ["p", "p"], ["y"])]
    constants = {"pads": np.int64([0, 1, 0, 0]), "half": np.float32(0.5)}
    path = model(nodes, ["N", 3], tmp_path / "m.onnx", **constants)
    x = np.array([[1, 0, 200]]).astype(dtype)
    (got,) = run_natively([path], {"x": x}, tmp_path)
    assert got.dtype == np.float32
    assert np.array_equal(got, answer(path, x.astype(np.float32))[0])


def test_fractions_for_a_model_of_whole_numbers_are_refused(tmp_path):
    path = model([make.make_node("Add", ["x", "x"], ["y"])], [2], tmp_path / "m.onnx", dtype=TensorProto.INT64)
    np.save(tmp_path / "x.npy", np.float32([1.5, 2]))
    done = convoy("run", path, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", code=2)
    assert "takes whole numbers" in done.stderr
    (got,) = run_natively([path], {"x": np.float32([1, 2])}, tmp_path)
    assert got.dtype == np.int64 and got.tolist() == [2, 4]


@pytest.mark.parametrize("exponent", [2, 3, 5])
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_powers_of_whole_numbers(dtype, exponent, tmp_path):
    kind = TensorProto.INT64 if dtype == "int64" else TensorProto.INT32
    nodes = [make.make_node("Pow", ["x", "e"], ["y"])]
    path = model(nodes, [3], tmp_path / "m.onnx", dtype=kind, e=np.array(exponent, dtype))
    x = np.array([101, -31, 3] if exponent == 5 else [1001, -317, 40], dtype)
    want = answer(path, x)[0]
    assert np.array_equal(run_natively([path], {"x": x}, tmp_path)[0], want)
    convoy("port", path, "-o", tmp_path / "port.onnx")
    assert np.array_equal(answer(tmp_path / "port.onnx", x)[0], want)


def test_two_outputs_of_one_value(tmp_path):
    nodes = [make.make_node("Relu", ["x"], ["a"]), make.make_node("Identity", ["a"], ["b"])]
    path = model(nodes, [2, 3], tmp_path / "m.onnx", outputs=("b", "a"))
    convoy("port", path, "-o", tmp_path / "port.onnx")
    x = np.float32([[1, -2, 3], [-4, 5, -6]])
    for got, want in zip(answer(tmp_path / "port.onnx", x), answer(path, x), strict=True):
        assert np.array_equal(got, want)


def test_a_variable_that_is_read_behind_its_change_is_refused(tmp_path):
    class Counter(tf.Module):
        def __init__(self):
            self.count = tf.Variable([[3.0, 4.0]])

        @tf.function(input_signature=[tf.TensorSpec([1, 2])])
        def changed(self, x):
            self.count.assign_add([[1.0, 1.0]])
            return x * self.count

        @tf.function(input_signature=[tf.TensorSpec([1, 2])])
        def changed_behind(self, x):
            y = x * self.count
            self.count.assign_add([[1.0, 1.0]])
            return y

    counter = Counter()
    x = np.float32([[1, 2]])
    tf.saved_model.save(counter, tmp_path / "a", signatures=counter.changed)
    np.save(tmp_path / "x.npy", x)
    done = convoy("run", tmp_path / "a", "--input", tmp_path / "x.npy", code=6)
    assert "has changed in the same call" in done.stderr
    tf.saved_model.save(counter, tmp_path / "b", signatures=counter.changed_behind)
    assert np.array_equal(run_natively([tmp_path / "b"], {"x": x}, tmp_path)[0], [[3, 8]])
    done = convoy("port", tmp_path / "b", "-o", tmp_path / "b.onnx")
    assert "keeps 'Variable' from call to call" in done.stdout


def test_a_keras_model_that_tensorflow_saves_has_the_weights_of_its_copies(tmp_path):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Conv2D(3, (3, 2), strides=2), keras.layers.Flatten(), keras.layers.Dense(4)])
    x = np.random.default_rng(1).normal(size=(2, 7, 5, 2)).astype(np.float32)
    want = model(x).numpy()
    tf.saved_model.save(model, tmp_path / "a")  # the signature's variables are not those that the checkpoint restores
    assert_close(run_natively([tmp_path / "a"], {"inputs": x}, tmp_path), [want])


def test_weights_kept_as_negated_views_are_refused(tmp_path):
    (tmp_path / "net.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.l = nn.Linear(2, 2, bias=False)\n    def forward(self, x):\n        return self.l(x)\n"
    )
    turned = torch.complex(torch.ones(2, 2), torch.full((2, 2), 3.0)).conj().imag
    torch.save({"l.weight": turned}, tmp_path / "w.pth")
    np.save(tmp_path / "x.npy", np.float32([[1, 2]]))
    given = ["--weights", tmp_path / "w.pth", "--input", tmp_path / "x.npy"]
    assert "resolve_neg" in convoy("run", tmp_path / "net.py", *given, code=6).stderr
    torch.save({"l.weight": turned.resolve_neg()}, tmp_path / "w.pth")
    convoy("run", tmp_path / "net.py", *given)


EXPRESSIONS = {
    "median": "x.median(dim=1)[0]",
    "kthvalue": "torch.kthvalue(x, 2, 1)[0]",
    "repeated": "x.repeat_interleave(2)",
    "new_full": "x + x.new_full((3,), 3)",
    "full_like": "x + torch.full_like(x, 3)",
    "round": "x + (round(1234, -2) + round(2.675, 2) + round(25, -1) + round(-35, -1))",
    "whole_product": "x.sum() * 0 + torch.addmm(torch.arange(2), i, torch.tensor([[3, -1], [2, 7], [5, 1]]))",
    "type_of_another": "x.type_as(i) + torch.ones_like(i) + torch.full_like(i, 2.7) + x.to(i.dtype)",
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_of_source(name, tmp_path):
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x, i):\n"
        f"        return {EXPRESSIONS[name]}, i + 1\n"
    )
    x, i = np.float32([[4, -7, 2.5], [0.25, 9, -3]]), np.int64([[3, 1, -2], [5, 0, 7]])
    scope = {"torch": torch, "x": torch.from_numpy(x), "i": torch.from_numpy(i)}
    want = eval(EXPRESSIONS[name], scope).numpy()
    got = run_natively([file], {"x": x, "i": i}, tmp_path)[0]
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_conditions_of_an_export_are_told(tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            pool = torch.nn.functional.avg_pool2d if x.shape[2] > x.shape[3] else torch.nn.functional.max_pool2d
            return pool(x, 2)

    free = torch.export.Dim.AUTO
    program = torch.export.export(Net(), (torch.ones(1, 2, 8, 7),), dynamic_shapes=({2: free, 3: free},))
    torch.export.save(program, tmp_path / "m.pt2")
    assert "where x.shape[2] > x.shape[3]" in convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.onnx").stdout


def test_diff_says_that_outputs_are_of_other_types(tmp_path):
    for name, behind in (("a", ""), ("b", ".float()")):
        (tmp_path / f"{name}.py").write_text(
            "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
            f"        return x.argmax(1){behind}\n"
        )
    done = convoy("diff", tmp_path / "a.py", tmp_path / "b.py", "--shape", "2,5", code=0)
    assert "is int64 in a, float32 in b: their numbers are compared" in done.stdout
