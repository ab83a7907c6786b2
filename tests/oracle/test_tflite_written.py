"""Every Keras model of the corpus, and a sample of the PyTorch and ONNX ones, as TFLite: answered by the interpreter as the
source's framework did, by its reference kernels and by XNNPACK, at the written size and resized; the same input gives the
same bytes."""
import json

import numpy as np
import pytest
from carrying import Crossing, assert_close, cases_in, convoy, plain_session

KERAS, TORCH, ONNX = (cases_in(f"corpus/{name}") for name in ("keras", "torch", "onnx"))
TOLERANCE = 2e-4  # across formats, as the corpus itself was checked


def models(corpus, file: str) -> list[str]:
    return [] if corpus is None else sorted(f.parent.name for f in corpus.glob(f"*/{file}"))


def runner(path, plain: bool):
    import tensorflow as tf

    kinds = tf.lite.experimental.OpResolverType
    # Some operators have no reference kernel: the builtin one answers for it.
    for kind in [kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES] if plain else [kinds.AUTO]:
        try:
            interpreter = tf.lite.Interpreter(model_path=str(path), experimental_op_resolver_type=kind, num_threads=1)
            return interpreter.get_signature_runner()
        except (RuntimeError, ValueError) as refused:
            if "Didn't find op" not in str(refused):
                raise
            reason = refused
    raise reason


def carry(folder, file: str, tmp_path) -> None:
    case = json.loads((folder / "case.json").read_text())
    path = tmp_path / "model.tflite"
    done = convoy("port", folder / file, "-o", path, "--json", code=None)
    if done.returncode == 6:
        assert not path.exists()
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    again = tmp_path / "again.tflite"
    convoy("port", folder / file, "-o", again, "--no-proof")
    assert path.read_bytes() == again.read_bytes(), "two runs give two files"
    report = json.loads(done.stdout)
    sides = {side: [Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs")}
    for plain in (True, False):
        for row in case["sets"]:
            inputs = [np.load(folder / f"input{row}_{i}.npy") for i in range(len(case["inputs"]))]
            want = [np.load(folder / f"output{row}_{i}.npy") for i in range(len(case["outputs"]))]
            run = runner(path, plain)
            fixed = {name: details["shape_signature"] for name, details in run.get_input_details().items()}
            feed = {c.name: c.to_port(x) for c, x in zip(sides["inputs"], inputs, strict=True)}
            if any(n not in (-1, m) for name, x in feed.items() for n, m in zip(fixed[name], x.shape, strict=True)):
                continue  # a size that the file does not take
            given = run(**feed)
            got = [c.from_port(given[c.name]) for c in sides["outputs"]]
            assert_close(got, want, TOLERANCE, f"{folder.name}{row}, {'reference' if plain else 'XNNPACK'}")


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", models(KERAS, "model.keras"))
def test_keras_model(name, tmp_path):
    carry(KERAS / name, "model.keras", tmp_path)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", models(TORCH, "model.pt2"))
def test_torch_model(name, tmp_path):
    carry(TORCH / name, "model.pt2", tmp_path)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", models(ONNX, "model.onnx"))
def test_onnx_model(name, tmp_path):
    carry(ONNX / name, "model.onnx", tmp_path)


# Kernels and strides of `same`: without a form at free sizes are those of 3 cells or more that are shorter than the stride.
STRIDED = [(k, s) for k in range(1, 6) for s in range(1, 7) if not 3 <= k < s]


@pytest.mark.parametrize("layer", ["Conv1D", "Conv2D", "DepthwiseConv2D", "Conv2DTranspose", "MaxPooling2D", "AveragePooling2D"])
@pytest.mark.parametrize("size", [None, 9, 10, 12])
def test_same_reads_the_same_windows_in_every_interpreter(layer, size, tmp_path):
    keras = pytest.importorskip("keras")
    columns = {9: 4, 10: 6, 12: 5}.get(size)
    shape = (size, 3) if layer.endswith("1D") else (size, columns, 3)
    x = keras.Input(shape)

    def windowed(k, s):
        kernel, stride = ((k,), s) if len(shape) == 2 else ((k, 1), (s, 2))
        if layer == "DepthwiseConv2D":
            stride = (s, s)
        first = () if "Pool" in layer or "Depthwise" in layer else (4,)
        return getattr(keras.layers, layer)(*first, kernel, strides=stride, padding="same", name=f"k{k}s{s}")

    model = keras.Model(x, [windowed(k, s)(x) for k, s in STRIDED])
    model.save(tmp_path / "model.keras")
    report = json.loads(convoy("port", tmp_path / "model.keras", "-o", tmp_path / "model.tflite", "--json").stdout)
    for plain in (True, False):
        run = runner(tmp_path / "model.tflite", plain)
        for rows in [size] if size else range(1, 14):
            cells = (1, rows, 3) if len(shape) == 2 else (1, rows, columns or rows % 5 + 1, 3)
            feed = np.random.default_rng(rows).standard_normal(cells).astype(np.float32)
            given = run(**{report["inputs"][0]["name"]: feed})
            got = [given[row["name"]] for row in report["outputs"]]
            want = [np.asarray(y) for y in model(feed)]
            assert_close(got, want, TOLERANCE, f"{rows} rows, {'reference' if plain else 'XNNPACK'}")


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("bound", [{"max_value": 0.9}, {"threshold": 0.1, "max_value": 0.9}, {"negative_slope": 0.2, "max_value": 0.875}, "clip", "maximum", "array", "minimum"])
def test_bounds_behind_a_convolution(bound, channels, tmp_path):
    """XNNPACK folds a lower bound that is a single number into the convolution, and then does not prepare the model."""
    keras = pytest.importorskip("keras")
    x = keras.Input((None, 6, 3))
    y = keras.layers.Conv2D(channels, 3)(x)
    functions = {
        "clip": lambda y: keras.ops.clip(y, 0.1, 0.9),
        "maximum": lambda y: keras.ops.maximum(y, 0.1),
        "array": lambda y: keras.ops.maximum(np.full((1, 1, 1), 0.1, np.float32), y),
        "minimum": lambda y: keras.ops.minimum(y, 0.1),
    }
    y = functions[bound](y) if isinstance(bound, str) else keras.layers.ReLU(**bound)(y)
    model = keras.Model(x, keras.ops.sqrt(keras.ops.abs(y)))
    model.save(tmp_path / "model.keras")
    done = convoy("port", tmp_path / "model.keras", "-o", tmp_path / "model.tflite", "--json", code=None)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    feed = np.random.default_rng(3).standard_normal((2, 5, 6, 3)).astype(np.float32)
    for plain in (True, False):
        given = runner(tmp_path / "model.tflite", plain)(**{report["inputs"][0]["name"]: feed})
        assert_close([given[report["outputs"][0]["name"]]], [np.asarray(model(feed))], TOLERANCE, f"{bound}, reference {plain}")


def test_one_slope_is_one_for_each_channel(tmp_path):
    """XNNPACK of TensorFlow 2.14 reads the number of channels from a single slope."""
    torch, tf = pytest.importorskip("torch"), pytest.importorskip("tensorflow")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.PReLU(init=0.3)).eval()
    x = torch.randn(1, 3, 7, 8)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    report = json.loads(convoy("port", tmp_path / "model.pt2", "-o", tmp_path / "model.tflite", "--json").stdout)
    interpreter = tf.lite.Interpreter(str(tmp_path / "model.tflite"))
    slopes = [t["shape"].tolist() for t in interpreter.get_tensor_details() if t["shape"].size == 3]
    assert slopes == [[1, 1, 5]]
    feed = x.permute(0, 2, 3, 1).numpy()
    want = model(x).permute(0, 2, 3, 1).detach().numpy()
    for plain in (True, False):
        given = runner(tmp_path / "model.tflite", plain)(**{report["inputs"][0]["name"]: feed})
        assert_close([given[report["outputs"][0]["name"]]], [want], TOLERANCE, f"reference {plain}")


def turned_again(c, x):
    y = c(x.transpose(1, 2))
    return y.transpose(1, 2), y, y.transpose(1, 2).relu()


def torch_truncated(x):
    import torch

    whole = (x * 9).to(torch.int32)
    return torch.div(whole, 4, rounding_mode="trunc")


# A value handed out as it is and with its axes turned, free sizes made one beside a free batch.
@pytest.mark.parametrize("given", [
    lambda c, x: c(x.transpose(1, 2)).transpose(1, 2),
    lambda c, x: (c(x.transpose(1, 2)).transpose(1, 2), c(x.transpose(1, 2))),
    lambda c, x: (c(x.transpose(1, 2)), c(x.transpose(1, 2)).transpose(1, 2), x.mean(2)),
    turned_again,
    lambda c, x: (c(x.transpose(1, 2)), torch_truncated(x)),
    lambda c, x: (c(x.transpose(1, 2)).flatten(1), x.unsqueeze(3).repeat(1, 1, 1, 2).flatten(2)),
], ids=["turned back", "both", "both and a mean", "thrice", "divided toward zero", "flattened"])
def test_outputs_are_told_apart(given, tmp_path):
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.c = torch.nn.Conv1d(3, 4, 2)

        def forward(self, x):
            return given(self.c, x)

    torch.manual_seed(3)
    model, x = Model().eval(), torch.randn(2, 7, 3)
    free = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("time", min=4, max=99)},)
    torch.export.save(torch.export.export(model, (x,), dynamic_shapes=free), tmp_path / "model.pt2")
    report = json.loads(convoy("port", tmp_path / "model.pt2", "-o", tmp_path / "model.tflite", "--json").stdout)
    sides = {side: [Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs")}
    for plain in (True, False):
        for shape in [(2, 7, 3), (5, 9, 3)]:
            x = torch.randn(*shape)
            want = model(x)
            want = [y.detach().numpy() for y in (want if isinstance(want, tuple) else (want,))]
            run = runner(tmp_path / "model.tflite", plain)
            answers = run(**{sides["inputs"][0].name: sides["inputs"][0].to_port(x.numpy())})
            got = [c.from_port(answers[c.name]) for c in sides["outputs"]]
            assert_close(got, want, TOLERANCE, f"{shape}, {'reference' if plain else 'XNNPACK'}")


def test_outputs_of_one_name_are_all_in_the_signature(tmp_path):
    import keras
    import tensorflow as tf

    x = keras.Input((6, 5))
    model = keras.Model(x, keras.layers.LSTM(3, return_sequences=True, return_state=True)(x))
    model.save(tmp_path / "m.keras")
    said = convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.tflite", "--json")
    runner = tf.lite.Interpreter(str(tmp_path / "m.tflite")).get_signature_runner()
    assert {output["name"] for output in json.loads(said.stdout)["outputs"]} == set(runner.get_output_details())
    (name,) = runner.get_input_details()
    fed = np.random.default_rng(2).normal(size=(2, 6, 5)).astype(np.float32)
    got = runner(**{name: fed})
    want = [np.asarray(y) for y in model(fed)]
    assert len(got) == 3
    for y in want:
        assert any(g.shape == y.shape and np.allclose(g, y, atol=1e-5) for g in got.values())


@pytest.mark.parametrize("turned", ["torch.relu(x).permute(0, 2, 1).permute(0, 2, 1)", "torch.relu(x).flatten(1).unflatten(1, (5, 4))",
                                    "(torch.relu(x).permute(0, 2, 1).permute(0, 2, 1), torch.relu(x).permute(0, 2, 1))"])  # fmt: skip
def test_moves_that_undo_each_other_are_shown_to_be_the_same(turned, tmp_path):
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            return eval(turned, {"torch": torch, "x": x})

    torch.export.save(torch.export.export(Net(), (torch.zeros(2, 5, 4),)), tmp_path / "net.pt2")
    for target in ("tflite", "keras", "onnx"):
        convoy("port", tmp_path / "net.pt2", "-o", tmp_path / f"port.{target}")


def test_a_maximum_over_nothing_but_the_pad_is_as_the_interpreter_has_it(tmp_path):
    """The lowest finite number in the reference kernel, where PyTorch has -inf: the port of the file says the former."""
    import tensorflow as tf
    import torch
    from carrying import port

    @tf.function(input_signature=[tf.TensorSpec((1, 4, 6, 2))])
    def net(x):
        padded = tf.pad(x, [[0, 0], [2, 0], [0, 0], [0, 0]], constant_values=-np.inf)
        return tf.nn.max_pool2d(padded, 2, 2, "VALID")

    (tmp_path / "net.tflite").write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([net.get_concrete_function()]).convert())
    x = np.random.default_rng(3).normal(size=(1, 4, 6, 2)).astype(np.float32)
    kinds = tf.lite.experimental.OpResolverType
    interpreter = tf.lite.Interpreter(str(tmp_path / "net.tflite"), experimental_op_resolver_type=kinds.BUILTIN_REF)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    want = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert want.min() == np.finfo(np.float32).min
    made = port([tmp_path / "net.tflite"], tmp_path / "port.py")
    got = made.outputs[0].from_port(made.model(torch.from_numpy(made.inputs[0].to_port(x))).numpy())
    np.testing.assert_array_equal(got, want)
    convoy("port", tmp_path / "net.tflite", "-o", tmp_path / "port.keras")


@pytest.mark.parametrize("kernel, strides, more", [
    ((2, 2, 2), (1, 3, 1), None), ((1, 2, 3), (2, 3, 4), None), ((2, 1, 2), (2, 2, 2), (0, 1, 0)), ((3, 2, 2), (1, 3, 3), None),
])
def test_strides_longer_than_kernels_over_three_axes(kernel, strides, more, tmp_path):
    """The interpreter's default kernel of CONV_3D_TRANSPOSE is wrong there."""
    import onnx
    import tensorflow as tf

    draw = np.random.default_rng(0)
    x, w = (draw.integers(-4, 5, shape).astype("f4") for shape in ((2, 2, 3, 4, 5), (2, 3, *kernel)))
    said = {"output_padding": list(more)} if more else {}
    node = onnx.helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=list(strides), **said)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, x.shape)], [value("y", 1, None)], [onnx.numpy_helper.from_array(w, "w")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    want = plain_session(tmp_path / "m.onnx").run(None, {"x": x})[0]
    convoy("port", tmp_path / "m.onnx", "-o", tmp_path / "m.tflite")
    for kind in ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO"):
        made = tf.lite.Interpreter(str(tmp_path / "m.tflite"), experimental_op_resolver_type=getattr(tf.lite.experimental.OpResolverType, kind))
        made.allocate_tensors()
        (given,), (gives,) = made.get_input_details(), made.get_output_details()
        made.set_tensor(given["index"], x if tuple(given["shape"]) == x.shape else x.transpose(0, 2, 3, 4, 1))
        made.invoke()
        y = made.get_tensor(gives["index"])
        np.testing.assert_array_equal(y if y.shape == want.shape else y.transpose(0, 4, 1, 2, 3), want, err_msg=kind)


def test_an_output_behind_a_cast_to_its_own_type_is_the_value_in_front_of_it(tmp_path):
    onnx = pytest.importorskip("onnx")
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[N,4,5] x) => (float[N,4,5] y) { m = Exp(x) y = Cast<to = 1>(m) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    convoy("port", tmp_path / "model.onnx", "-o", tmp_path / "model.tflite")
    x = np.arange(40, dtype=np.float32).reshape(2, 4, 5) / 8
    np.testing.assert_allclose(runner(tmp_path / "model.tflite", True)(x=x)["y"], np.exp(x), rtol=1e-6)
