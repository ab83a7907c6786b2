"""What convoy writes as Keras, opened by Keras itself (safe mode, no custom objects) and answered as its source was: the
Keras corpus as .keras and .h5, exported PyTorch programs and ONNX models as .keras, at every stored size. The same input
gives the same bytes."""
import json

import numpy as np
import pytest
from carrying import assert_close, cases_in, convoy, port
from test_onnx_written import crossings_of

# Branches that read a name that the file gives nowhere: ONNX Runtime refuses these two files as well.
UNREAD = {"if_constant", "if_dynamic"}
TOLERANCE = 2e-4  # across formats, as the corpus itself was checked
KERAS, TORCH, ONNX = (cases_in(f"corpus/{name}") for name in ("keras", "torch", "onnx"))


def cases(folder, file: str) -> list[str]:
    return [] if folder is None else sorted(f.parent.name for f in folder.glob(f"*/{file}"))


def stored(folder, name: str):
    """Each stored set of a case: its inputs and its outputs."""
    case = json.loads((folder / name / "case.json").read_text())
    for row in case["sets"]:
        yield tuple([np.load(folder / name / f"{side}{row}_{i}.npy") for i in range(len(case[f"{side}s"]))]
                    for side in ("input", "output"))  # fmt: skip


def opened(path):
    import keras

    keras.backend.clear_session()
    if path.suffix == ".keras":
        return keras.saving.load_model(path, safe_mode=True, compile=False)
    return keras.models.load_model(path, compile=False)


def answers(model, crossings: dict, inputs: list[np.ndarray]) -> list[np.ndarray]:
    import tensorflow

    feed = [c.to_port(x) for c, x in zip(crossings["inputs"], inputs, strict=True)]
    names = [c.name for c in crossings["inputs"]]
    is_named = isinstance(getattr(model, "_inputs_struct", None), dict)
    feed = dict(zip(names, feed, strict=True)) if is_named else feed[0] if len(feed) == 1 else feed
    try:
        got = model(feed, training=False)
    except tensorflow.errors.InvalidArgumentError:  # a dilated transposed layer of the source runs only when compiled
        model.compile(jit_compile=True)
        got = model.predict(feed, verbose=0)
    named = [got[c.name] for c in crossings["outputs"]] if isinstance(got, dict) else None
    several = named or (list(got) if isinstance(got, (list, tuple)) else [got])
    return [c.from_port(np.asarray(y)) for c, y in zip(crossings["outputs"], several, strict=True)]


def written(source, path):
    """The report of a port with proof, or the reason why there is none."""
    done = convoy("port", source, "-o", path, "--json", "--force", code=None)
    if done.returncode == 6:
        assert not path.exists()
        assert ":" in done.stderr, done.stderr
        return None, done.stderr.strip()
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
    return crossings_of(json.loads(done.stdout)), ""


def check(folder, name: str, file: str, path) -> None:
    sides, reason = written(folder / name / file, path)
    if sides is None:
        pytest.skip(reason)
    model = opened(path)
    for inputs, want in stored(folder, name):
        assert_close(answers(model, sides, inputs), want, TOLERANCE, name)


@pytest.mark.sampled(60)
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", cases(KERAS, "model.keras"))
def test_keras(name, suffix, tmp_path):
    if json.loads((KERAS / name / "case.json").read_text()).get("refuse"):
        assert written(KERAS / name / "model.keras", tmp_path / f"a{suffix}")[0] is None
        return
    path = tmp_path / f"net{suffix}"
    check(KERAS, name, "model.keras", path)
    again = tmp_path / f"again{suffix}"
    convoy("port", KERAS / name / "model.keras", "-o", again, "--no-proof")
    assert path.read_bytes() == again.read_bytes(), "two runs give two files"


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", cases(TORCH, "model.pt2"))
def test_torch(name, tmp_path):
    check(TORCH, name, "model.pt2", tmp_path / "net.keras")


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", [name for name in cases(ONNX, "model.onnx") if name not in UNREAD])
def test_onnx(name, tmp_path):
    check(ONNX, name, "model.onnx", tmp_path / "net.keras")


# Through PyTorch and back: real torch.export between the two ports.
RETURNING = [
    "net_source_question", "net_mini_mobilenet_v2", "net_mini_resnet", "net_mini_unet_transposed", "flatten_dense",
    "order_trap", "depthwise2d_mult3", "bn_axis1", "convt2d_same_k4_s2", "conv2d_same_k3_s2_even",
]  # fmt: skip


def weights_of(model) -> list[bytes]:
    return sorted(np.ascontiguousarray(w).tobytes() + str(w.shape).encode() for w in model.get_weights())


@pytest.mark.skipif(KERAS is None, reason="no corpus: neither beside the project nor in tests/data")
@pytest.mark.parametrize("name", RETURNING)
def test_there_and_back(name, tmp_path):
    import torch

    module = port([KERAS / name / "model.keras"], tmp_path / "there.py")
    inputs, want = next(stored(KERAS, name))
    example = tuple(torch.from_numpy(c.to_port(x)) for c, x in zip(module.inputs, inputs, strict=True))
    torch.export.save(torch.export.export(module.model.eval(), example), tmp_path / "there.pt2")
    sides, reason = written(tmp_path / "there.pt2", tmp_path / "back.keras")
    assert sides, reason
    back = opened(tmp_path / "back.keras")
    middle = [x.numpy() for x in example]
    got = [c.from_port(y) for c, y in zip(module.outputs, answers(back, sides, middle), strict=True)]
    assert_close(got, want, TOLERANCE, name)
    assert weights_of(back) == weights_of(opened(KERAS / name / "model.keras")), "weights changed on the way"


# Single layers of PyTorch with recorded answers: exported, ported and asked in Keras.
GOLDEN = cases_in("golden")


def calls() -> dict[str, dict]:
    files = [] if GOLDEN is None else sorted(GOLDEN.glob("torch_*.jsonl"))
    rows = (json.loads(line) for file in files for line in file.read_text().splitlines())
    return {row["id"]: row for row in rows if "output" in row and "data" in row["output"]}


CALLS = calls()


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name", sorted(CALLS))
def test_recorded_call(name, tmp_path):
    import torch

    case = CALLS[name]
    arrays = {key: np.array(x["data"], np.float32).reshape(x["shape"]) for key, x in case["inputs"].items()}
    weights = {key: torch.from_numpy(a) for key, a in arrays.items() if key != "x"}

    class Net(torch.nn.Module):
        def forward(self, x):
            return eval(case["call"], {"torch": torch, "x": x, "b": None, **{key: getattr(self, key) for key in weights}})

    net = Net().eval()
    for key, value in weights.items():
        net.register_buffer(key, value)
    try:
        program = torch.export.export(net, (torch.from_numpy(arrays["x"]),))
    except Exception as error:  # what torch.export itself does not take says nothing about the port
        pytest.skip(f"torch.export: {type(error).__name__}")
    torch.export.save(program, tmp_path / "layer.pt2")
    sides, reason = written(tmp_path / "layer.pt2", tmp_path / "layer.keras")
    if sides is None:
        pytest.skip(reason)
    want = np.array(case["output"]["data"], np.float32).reshape(case["output"]["shape"])
    assert_close(answers(opened(tmp_path / "layer.keras"), sides, [arrays["x"]]), [want], 2e-5, case["call"])


def exported(net, x, path):
    import torch

    torch.export.save(torch.export.export(net.eval(), (torch.from_numpy(x),)), path)
    return path


@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
def test_an_image_at_known_places(border, tmp_path):
    """What is made of a known grid stands computed, and rounded, in the written model."""
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            places = np.random.default_rng(7).uniform(-1.2, 1.2, (1, 4, 6, 2)).astype(np.float32)
            self.register_buffer("places", torch.from_numpy(places))

        def forward(self, x):
            return torch.nn.functional.grid_sample(x, self.places.repeat(2, 1, 1, 1), padding_mode=border, align_corners=False)

    net, x = Net(), np.random.default_rng(8).normal(size=(2, 3, 5, 8)).astype(np.float32)
    sides, reason = written(exported(net, x, tmp_path / "net.pt2"), tmp_path / "port.keras")
    assert sides, reason
    got = answers(opened(tmp_path / "port.keras"), sides, [x])
    assert_close(got, [net(torch.from_numpy(x)).numpy()], 2e-5, border)


@pytest.mark.parametrize("dtype", ["uint8", "uint32"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_whole_numbers_that_wrap_around(dtype, direction, tmp_path):
    from onnx import helper, save

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    value = [helper.make_tensor_value_info(name, kind, shape) for name, shape in (("x", [2, 5]), ("n", [1, 5]), ("y", [2, 5]))]
    graph = helper.make_graph([helper.make_node("BitShift", ["x", "n"], ["y"], direction=direction)], "g", value[:2], value[2:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    sides, reason = written(tmp_path / "net.onnx", tmp_path / "port.keras")
    if dtype == "uint32":  # no input of Keras's file has that type here
        assert not sides and "uint32" in reason, reason
        return
    assert sides, reason
    x, n = np.array([[1, 2, 200, 255, 7], [3, 128, 64, 99, 0]], dtype), np.array([[1, 7, 1, 2, 3]], dtype)
    got = answers(opened(tmp_path / "port.keras"), sides, [x, n])
    assert got[0].dtype == dtype
    np.testing.assert_array_equal(got[0], np.left_shift(x, n) if direction == "LEFT" else np.right_shift(x, n))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize("function", ["multiply", "add", "subtract", "maximum", "floor_divide"])
def test_whole_constants_are_read_in_their_type(function, dtype, tmp_path):
    import keras

    x, constant = np.array([[1, 2, 100, 77]], dtype), np.array([3, 5, 127, 100], dtype)
    given = keras.Input(x.shape[1:], batch_size=1, dtype=dtype)
    model = keras.Model(given, getattr(keras.ops, function)(given, constant))
    model.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    convoy("run", tmp_path / "net.keras", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    got, wanted = np.load(tmp_path / "y.npy"), np.asarray(model(x))
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("stride", [2, 3])
def test_depthwise_series_of_tflite_run_in_keras(stride, tmp_path):
    """TFLite's strides are (1, s) there, which TensorFlow's depthwise kernels refuse on processors without oneDNN."""
    import keras

    model = keras.Sequential([keras.Input((11, 3)), keras.layers.DepthwiseConv1D(4, stride, "same", depth_multiplier=2)])
    model.layers[-1].bias.assign(np.arange(6.0) / 8)
    model.save(tmp_path / "net.keras")
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "net.tflite")
    sides, reason = written(tmp_path / "net.tflite", tmp_path / "port.keras")
    assert sides, reason
    x = np.random.default_rng(9).normal(size=(2, 11, 3)).astype(np.float32)
    assert_close(answers(opened(tmp_path / "port.keras"), sides, [x]), [np.asarray(model(x))], 2e-5, f"stride {stride}")


@pytest.mark.parametrize("layer", ["nn.Conv1d(2, 3, 1)", "nn.ConvTranspose1d(2, 3, 2)", "nn.BatchNorm1d(2)", "nn.GroupNorm(1, 2)", "nn.LayerNorm([2, 7])"])
def test_layers_whose_weights_keras_cannot_make_are_not_written(layer, tmp_path):
    """Their channels are a size that is free; Keras makes no layer of such a file."""
    text = "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += f"        self.layer = {layer}\n\n    def forward(self, x):\n        return self.layer(x.unsqueeze(0))\n"
    (tmp_path / "net.py").write_text(text)
    source = (tmp_path / "net.py:Net", "--seed", 1, "-o", tmp_path / "net.keras")
    assert "whose number is free" in convoy("port", *source, "--shape", "x=?,7", code=6).stderr
    convoy("port", *source, "--shape", "x=2,7")
    assert opened(tmp_path / "net.keras")(np.ones((2, 7), "f4")).shape[0] == 1
