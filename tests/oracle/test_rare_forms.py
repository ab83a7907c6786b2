"""Forms that models have now and then, each answered by the real framework beside the port: nothing laid beside
something, one example picked of any number, a batch that is part of the model, places computed from sizes,
kernels with several outputs for each channel, parameters that broadcast, and a forward() under a decorator."""
import functools
import importlib.util

import numpy as np
import pytest
import torch
from carrying import convoy, plain_session
from torch import nn

SOURCE = ("--interface", "source")


def exported(net, x, path, free=False):
    shapes = ({0: torch.export.Dim("n", min=1, max=99)},) if free else None
    torch.export.save(torch.export.export(net.eval(), (torch.from_numpy(x),), dynamic_shapes=shapes), path)
    return path


def as_net(function):
    class Net(nn.Module):
        def forward(self, x):
            return function(x)

    return Net()


def ported(source, path, *more):
    convoy("port", source, "-o", path, *SOURCE, *more)
    return path


def of_onnx(path, x):
    session = plain_session(path)
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def of_keras(path, x):
    import keras

    return np.asarray(keras.models.load_model(path, compile=False)(x, training=False))


def of_tflite(path, x):
    import tensorflow as tf

    runner = tf.lite.Interpreter(str(path)).get_signature_runner()
    (answer,) = runner(**{next(iter(runner.get_input_details())): x}).values()
    return answer


def module_at(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_torch(path, x):
    with torch.no_grad():
        answer = module_at(path).load()(torch.from_numpy(x))
    return (answer[0] if isinstance(answer, tuple) else answer).numpy()


ANSWERS = {"py": of_torch, "onnx": of_onnx, "keras": of_keras, "tflite": of_tflite}


def of_convoy(source, x, folder):
    np.save(folder / "x.npy", x)
    convoy("run", source, "--input", folder / "x.npy", "-o", folder / "y.npy", "--force")
    return np.load(folder / "y.npy")


X = np.arange(2 * 3 * 5 * 6, dtype="f4").reshape(2, 3, 5, 6) % 7 - 3


@pytest.mark.parametrize("target", ANSWERS)
def test_nothing_laid_beside_a_tensor_changes_nothing(target, tmp_path):
    net = as_net(lambda x: torch.cat([x[:, :0], x, x[:, 3:], x[:, 1:]], 1) * 2)
    port = ported(exported(net, X, tmp_path / "net.pt2"), tmp_path / f"port.{target}")
    assert np.array_equal(ANSWERS[target](port, X), net(torch.from_numpy(X)).numpy())


def test_a_sum_of_nothing_is_refused_toward_tflite(tmp_path):
    source = exported(as_net(lambda x: x[:, :0].sum(1) + x[:, 0]), X, tmp_path / "net.pt2")
    said = convoy("port", source, "-o", tmp_path / "port.tflite", code=6).stderr
    assert "holds no number" in said


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean", "ReduceMax", "GlobalAveragePool"])
def test_an_input_that_is_declared_empty_is_refused_toward_tflite(operator, tmp_path):
    """Its kernels answer from memory that nobody wrote, where ONNX Runtime gives the sum of nothing."""
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node(operator, ["x"], ["y"], **({"axes": [2]} if operator in ("ReduceMean", "ReduceMax") else {}))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name, sizes in (("x", ["N", 2, 0, 3]), ("y", None))]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    said = convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "port.tflite", code=6).stderr
    assert "m.onnx: input 'x' of shape [N, 2, 0, 3] holds no number, and TFLite's kernels" in said
    convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "port.tflite", "--shape", "x=?,2,?,3")


@pytest.mark.parametrize("compare", [torch.eq, torch.lt, torch.ge, torch.pow, torch.floor_divide, torch.logical_or])
def test_stretching_over_five_axes_in_tflite(compare, tmp_path):
    def shuffled(x):
        a, b = x.abs().reshape(2, 3, 5, 6, 1) + 1, x.abs().reshape(2, 3, 5, 6)[:, :, :, :4].reshape(2, 3, 5, 1, 4)
        if compare is torch.logical_or:
            a, b = a > 2, b > 1
        return compare(a, b) * 1.0

    net = as_net(shuffled)
    port = ported(exported(net, X, tmp_path / "net.pt2"), tmp_path / "port.tflite")
    wanted = net(torch.from_numpy(X)).numpy()
    assert np.allclose(of_tflite(port, X), wanted, rtol=1e-6)


def test_adding_at_known_places_runs_in_tflite(tmp_path):
    places = torch.from_numpy(np.random.default_rng(1).integers(0, 3, (2, 2, 5, 6)))
    net = as_net(lambda x: (x * 2).scatter_add(1, places, x[:, 1:]))
    port = ported(exported(net, X, tmp_path / "net.pt2"), tmp_path / "port.tflite")
    assert np.array_equal(of_tflite(port, X), net(torch.from_numpy(X)).numpy())


@pytest.mark.parametrize("pick", [lambda x: x[0] + x[-1], lambda x: torch.stack([x[0], x[-1]])])
def test_an_example_of_any_number_is_picked_in_keras(pick, tmp_path):
    net = as_net(pick)
    port = ported(exported(net, X, tmp_path / "net.pt2", free=True), tmp_path / "port.keras")
    for x in (X, X[:1], np.concatenate([X, X + 1])):
        assert np.array_equal(of_keras(port, x), net(torch.from_numpy(x)).numpy())


def test_a_module_of_one_batch_takes_no_other(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.p, self.c = nn.Parameter(torch.randn(1, 4, 1, 1)), nn.Conv2d(3, 4, 3)

        def forward(self, x):
            y = self.c(x)
            return self.p.expand_as(y).sum((2, 3)), y.mean()  # a mean over all examples holds the batch fast

    net = Net().eval()
    torch.jit.trace(net, torch.from_numpy(X)).save(str(tmp_path / "net.pt"))
    port = ported(tmp_path / "net.pt", tmp_path / "port.py")
    assert np.allclose(of_torch(port, X), net(torch.from_numpy(X))[0].detach().numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="holds for"):
        of_torch(port, X[:1])


def test_a_module_of_one_batch_beside_a_free_one_takes_no_other(tmp_path):
    class Net(nn.Module):
        def forward(self, x, y):
            return x.sum((2, 3)), y + torch.arange(8.0).reshape(2, 4)  # one row would stretch to both

    net, x, y = Net().eval(), torch.from_numpy(X), torch.randn(2, 4)
    free = ({0: torch.export.Dim("n", min=1, max=99)}, None)
    torch.export.save(torch.export.export(net, (x, y), dynamic_shapes=free), tmp_path / "net.pt2")
    ported(tmp_path / "net.pt2", tmp_path / "port.py")
    port = module_at(tmp_path / "port.py").load()
    assert torch.equal(port(x[:1], y)[1], net(x[:1], y)[1])
    with pytest.raises(ValueError, match=r"holds for \[2, 4\], not for \[1, 4\]"):
        port(x, y[:1])


@pytest.mark.parametrize("kind", ["LayerNormalization", "RMSNormalization"])
@pytest.mark.parametrize("scale, bias", [((6,), (6,)), ((5, 1), (1,)), ((5, 6), (6,)), ((1, 1, 5, 6), (2, 1, 1, 6))])
def test_parameters_of_a_norm_broadcast(kind, scale, bias, tmp_path):
    import onnx
    from onnx import helper, numpy_helper

    if kind == "RMSNormalization" and len(scale) > 2:
        pytest.skip("ONNX Runtime takes no such scale")
    random = np.random.default_rng(2)
    numbers = [numpy_helper.from_array(random.standard_normal(shape).astype("f4"), name)
               for name, shape in (("s", scale), ("b", bias))][: 2 if kind == "LayerNormalization" else 1]
    node = helper.make_node(kind, ["x", *(one.name for one in numbers)], ["y"], axis=2)
    float32 = onnx.TensorProto.FLOAT
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", float32, X.shape)],
                              [helper.make_tensor_value_info("y", float32, X.shape)], numbers)
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), path)
    wanted = of_onnx(path, X)
    assert np.allclose(of_convoy(path, X, tmp_path), wanted, atol=1e-5)
    for target in ("py", "onnx"):
        port = ported(path, tmp_path / f"port.{target}")
        assert np.allclose(ANSWERS[target](port, X), wanted, atol=1e-5)


@pytest.mark.parametrize("target", ["py", "onnx", "keras"])
def test_places_computed_from_sizes_are_never_negative_in_the_proof(target, tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(20, 4)

        def forward(self, x):
            return self.table((x[:, 0].abs() * 3).to(torch.int64).clamp(max=19))

    net = Net().eval()
    port = ported(exported(net, X, tmp_path / "net.pt2"), tmp_path / f"port.{target}")
    assert np.array_equal(ANSWERS[target](port, X), net(torch.from_numpy(X)).detach().numpy())


DECORATORS = {
    "wraps": "@functools.wraps(f)\n    def g(*a, **k): return f(*a, **k) * 3",
    "plain": "def g(*a, **k): return f(*a, **k) * 3",
    "with self": "@functools.wraps(f)\n    def g(self, *a): return f(self, *a) * 3",
    "its own names": "def g(self, x): return f(self, x) * 3",
}


@pytest.mark.parametrize("kind", DECORATORS)
def test_forward_is_decorated(kind, tmp_path):
    text = f"""import functools
import torch
from torch import nn
def tripled(f):
    {DECORATORS[kind]}
    return g
class Net(nn.Module):
    @tripled
    def forward(self, x): return x.abs() + 1
"""
    (tmp_path / "net.py").write_text(text)
    names = {}
    exec(text, names)  # noqa: S102
    wanted = names["Net"]()(torch.from_numpy(X)).numpy()
    assert np.array_equal(of_convoy(f"{tmp_path / 'net.py'}:Net", X, tmp_path), wanted)


@functools.cache
def depthwise(multiplier):
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(5)
    given = keras.Input((8, 9, 3), batch_size=1)
    model = keras.Model(given, keras.layers.DepthwiseConv2D(3, depth_multiplier=multiplier, padding="same", activation="relu6",
                                                            bias_initializer="random_normal")(given))
    random = np.random.default_rng(6)
    model.layers[-1].set_weights([w * random.uniform(0.1, 4, w.shape[-2:] if w.ndim > 1 else w.shape)
                                  for w in model.layers[-1].get_weights()])
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([random.standard_normal((1, 8, 9, 3)).astype("f4")] for _ in range(8))
    return converter.convert()


@pytest.mark.parametrize("multiplier", [1, 2, 5])
@pytest.mark.parametrize("target, kind", [("onnx", "keep"), ("onnx", "fake"), ("py", "fake"), ("keras", "fake"), ("tflite", "keep")])
def test_each_output_of_a_quantised_depthwise_kernel_has_its_scale(target, kind, multiplier, tmp_path):
    import tensorflow as tf

    source = tmp_path / "net.tflite"
    source.write_bytes(depthwise(multiplier))
    x = np.random.default_rng(7).standard_normal((1, 8, 9, 3)).astype("f4")
    wanted = of_tflite(source, x)
    interpreter = tf.lite.Interpreter(str(source))
    interpreter.allocate_tensors()
    step = max(float(d["quantization"][0]) for d in interpreter.get_tensor_details() if list(d["shape"]) == list(wanted.shape))
    port = ported(source, tmp_path / f"port.{target}", "--quantized", kind)
    assert np.abs(ANSWERS[target](port, x) - wanted).max() <= step * 1.001


def by_larger_side(x):
    return nn.functional.avg_pool2d(x, 2) if x.shape[2] > x.shape[3] else nn.functional.max_pool2d(x, 2)


def evened(x):
    return nn.functional.pad(x, (0, 1)) if x.shape[3] % 2 else x * 2


@pytest.mark.parametrize("choose, held, other", [(by_larger_side, (8, 7), (6, 9)), (evened, (8, 7), (9, 8))])
def test_an_exported_program_is_refused_where_it_goes_another_way(choose, held, other, tmp_path):
    free = {axis: torch.export.Dim.AUTO for axis in (0, 2, 3)}
    program = torch.export.export(as_net(choose).eval(), (torch.zeros(2, 3, *held),), dynamic_shapes=(free,))
    torch.export.save(program, tmp_path / "m.pt2")
    x, elsewhere = (np.random.default_rng(3).normal(size=(4, 3, *sizes)).astype("float32") for sizes in (held, other))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "elsewhere.npy", elsewhere)
    convoy("run", tmp_path / "m.pt2", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), choose(torch.from_numpy(x)), atol=1e-6)
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.from_numpy(elsewhere))
    done = convoy("run", tmp_path / "m.pt2", "--input", tmp_path / "elsewhere.npy", code=2)
    assert "holds where" in done.stderr
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.py")  # proven at sizes where it holds
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "n.py", "--size", "x".join(map(str, other)), code=2)


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_a_weight_norm_over_everything_or_all_but_one_axis(dim, tmp_path):
    """-1 is no axis there: the norm over everything."""
    torch.manual_seed(1)
    net = torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv2d(3, 4, (2, 3)), dim=dim).eval()
    source = exported(net, X, tmp_path / "net.pt2")
    with torch.no_grad():
        np.testing.assert_allclose(of_convoy(source, X, tmp_path), net(torch.from_numpy(X)).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("least, most", [(0.5, 6.0), (-6.0, -0.5), (-2.0, 6.0), (-0.0, 0.0)])
def test_a_fake_quantization_of_one_sign_begins_at_zero(least, most, tmp_path):
    import tensorflow as tf

    v1, graph = tf.compat.v1, tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2, 3, 5, 6], "x")
        v1.identity(v1.quantization.fake_quant_with_min_max_vars(x, least, most), "y")
        with v1.Session() as session:
            want = session.run("y:0", {"x:0": X * 2.3})
        (tmp_path / "net.pb").write_bytes(graph.as_graph_def().SerializeToString())
    np.testing.assert_allclose(of_convoy(tmp_path / "net.pb", X * np.float32(2.3), tmp_path), want, rtol=0, atol=1e-6)


@pytest.mark.parametrize("target", ANSWERS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.uint16])
def test_a_cast_takes_the_lowest_bits(dtype, target, tmp_path):
    """Of a type that does not hold the number; other frameworks stop at its last one, or at some places only."""
    x = np.random.default_rng(5).uniform(-7e4, 7e4, (2, 3, 9, 37)).astype("float32")
    exported(as_net(lambda x: x.to(dtype)), x, tmp_path / "m.pt2")
    port = convoy("port", tmp_path / "m.pt2", "-o", tmp_path / f"n.{target}", *SOURCE, code=None)
    if port.returncode == 6:
        pytest.skip(port.stderr.strip()[-200:])
    assert port.returncode == 0, port.stderr
    want = torch.from_numpy(x).to(torch.int32).to(dtype)
    np.testing.assert_array_equal(torch.from_numpy(x).to(dtype), want)
    np.testing.assert_array_equal(ANSWERS[target](tmp_path / f"n.{target}", x), want)


def test_what_is_chosen_by_parameters_alone(tmp_path):
    """ONNX files hold such conditions as they come out: the proof's own numbers for parameters would turn them."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ParameterList(torch.zeros(1, 3, 5, 5) for _ in range(6))
            self.limits = nn.ParameterList(torch.full((), -0.5 - i) for i in range(6))

        def forward(self, x):
            for table, limit in zip(self.tables, self.limits):
                x = nn.functional.scaled_dot_product_attention(x, x, x, table)
                x = torch.where(table[..., :1] > limit, x * 2, x - 1)
            return x

    x = np.random.default_rng(5).normal(size=(2, 3, 5, 6)).astype("float32")
    net = Net()
    exported(net, x, tmp_path / "m.pt2")
    for target in ("onnx", "py", "keras"):
        port = ported(tmp_path / "m.pt2", tmp_path / f"n.{target}")
        np.testing.assert_allclose(ANSWERS[target](port, x), net(torch.from_numpy(x)).detach(), rtol=1e-5, atol=1e-6)
