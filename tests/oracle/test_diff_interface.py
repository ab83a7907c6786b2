"""`convoy diff` holds inputs and outputs against each other as they lie: models that begin or end with a rearrangement against
those without it, and against their ports. PyTorch itself is called to say which pairs take and give the same arrays."""
import itertools
import json
import subprocess

import pytest
from carrying import CONVOY, convoy
from test_interface import BEGINNINGS, ENDS

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


class Behind(nn.Module):
    """A rearrangement, two convolutions, another one. Square images: what is exchanged has no other size."""

    def __init__(self, begin, end):
        super().__init__()
        torch.manual_seed(7)
        self.begin, self.end = begin, end
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 1)

    def forward(self, x):
        return self.end(self.second(torch.tanh(self.first(self.begin(x)))))


# Per shape of the input: functions of it, each of which gives [2, 3, 6, 6].
STARTS = {
    (2, 3, 6, 6): {
        "nothing": lambda x: x,
        "rows_for_columns": lambda x: x.transpose(2, 3),
        "there_and_back": lambda x: x.transpose(1, 2).transpose(1, 2),
        "reshaped_and_back": lambda x: x.reshape(2, -1).reshape(2, 3, 6, 6),
        "reversed_channels": lambda x: x[:, [2, 1, 0]],
        "all_channels": lambda x: x[:, [0, 1, 2]],
        "flipped": lambda x: x.flip(3),
        "unsqueezed_and_back": lambda x: x.unsqueeze(1).squeeze(1),
        "as_if_last": lambda x: x.reshape(2, 6, 6, 3).permute(0, 3, 1, 2),
    },
    (2, 6, 6, 3): {
        "last": lambda x: x.permute(0, 3, 1, 2),
        "last_columns_first": lambda x: x.permute(0, 3, 2, 1),
        "as_if_first": lambda x: x.reshape(2, 3, 6, 6),
        "last_in_two": lambda x: x.transpose(2, 3).transpose(1, 2),
    },
}
# Functions of [2, 4, 6, 6].
LASTS = {
    "nothing": lambda y: y,
    "rows_for_columns": lambda y: y.transpose(2, 3),
    "rows_reversed": lambda y: y[:, :, [5, 4, 3, 2, 1, 0]],
    "channels_last": lambda y: y.permute(0, 2, 3, 1),
    "channels_last_columns_first": lambda y: y.permute(0, 3, 2, 1),
    "flat": lambda y: y.flatten(1),
    "flat_by_reshape": lambda y: y.reshape(2, 144),
    "last_flat": lambda y: y.permute(0, 2, 3, 1).flatten(1),
    "unsqueezed": lambda y: y.unsqueeze(1),
    "unsqueezed_last": lambda y: y.unsqueeze(-1),
    "mean": lambda y: y.mean((2, 3)),
    "mean_kept": lambda y: y.mean((2, 3), keepdim=True),
    "mean_squeezed": lambda y: y.mean((2, 3), keepdim=True).squeeze(3).squeeze(2),
    "picked": lambda y: y[:, 1],
    "picked_kept": lambda y: y[:, 1:2],
    "two": lambda y: (y, y.mean((2, 3))),
    "two_exchanged": lambda y: (y.mean((2, 3)), y),
    "one_of_them_turned": lambda y: (y.transpose(2, 3), y.mean((2, 3))),
}


def listed(y):
    return list(y) if isinstance(y, tuple) else [y]


def agree(a, b, x) -> bool:
    with torch.inference_mode():
        got, want = listed(a(x)), listed(b(x))
    return [y.shape for y in got] == [y.shape for y in want] and all(
        torch.allclose(y, z, rtol=1e-5, atol=1e-6) for y, z in zip(got, want, strict=True))


class Files:
    """Exported once per model and format."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def of(self, model, x, form):
        key = (id(model), form)
        if key not in self.made:
            file = self.folder / f"{len(self.made)}.{form}"
            if form == "pt2":
                torch.export.save(torch.export.export(model.eval(), (x,)), file)
            else:
                torch.onnx.export(model.eval(), (x,), file, dynamo=False, opset_version=17)
            self.made[key] = file
        return self.made[key]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return Files(tmp_path_factory.mktemp("pairs"))


def check(files, a, b, x, forms):
    done = subprocess.run([str(CONVOY), "diff", *(str(files.of(m, x, f)) for m, f in zip((a, b), forms, strict=True))],
                          capture_output=True, text=True)
    want = 0 if agree(a, b, x) else 1
    assert done.returncode == want, f"PyTorch says {'same' if want == 0 else 'different'}\n{done.stdout}{done.stderr}"


MODELS = {(shape, name): Behind(start, lambda y: y) for shape, all_ in STARTS.items() for name, start in all_.items()}
ENDED = {name: Behind(lambda x: x, last) for name, last in LASTS.items()}


@pytest.mark.parametrize("first, second", [(a, b) for a, b in itertools.permutations(MODELS, 2) if a[0] == b[0]],
                         ids=lambda key: key[1])
def test_beginnings(first, second, files):
    forms = ("pt2", "onnx") if len(first[1]) % 2 else ("onnx", "pt2")
    check(files, MODELS[first], MODELS[second], torch.randn(first[0]), forms)


@pytest.mark.parametrize("first, second", list(itertools.combinations(ENDED, 2)))
def test_ends(first, second, files):
    forms = ("pt2", "onnx") if len(first) % 2 else ("pt2", "pt2")
    check(files, ENDED[first], ENDED[second], torch.randn(2, 3, 6, 6), forms)


@pytest.mark.parametrize("begin, end", [(begin, "nothing") for begin in BEGINNINGS] + [("nothing", end) for end in ENDS])
@pytest.mark.parametrize("target", ["py", "onnx", "keras"])
@pytest.mark.parametrize("outside", ["source", "target"])
def test_ports_are_the_same(begin, end, target, outside, tmp_path, files):
    shape, function = BEGINNINGS[begin]
    model = Behind(function, ENDS[end])
    source, port = files.of(model, torch.randn(shape), "pt2"), tmp_path / f"port.{target}"
    done = convoy("port", source, "-o", port, "--interface", outside, "--json", code=None)
    if done.returncode == 6:
        pytest.skip(done.stderr.strip()[-200:])
    assert done.returncode == 0, done.stderr
    sizes = ",".join(map(str, json.loads(done.stdout)["inputs"][0]["shape"]))
    said = convoy("diff", source, port, *(["--shape", f"x={sizes}"] if target == "py" else []), code=None)
    assert said.returncode == 0, said.stdout + said.stderr


def unnamed_pair(kind: str, shape: tuple, folder):
    """Models no layer of which names channels, in Keras channels last and in PyTorch channels first, of the same weights."""
    import keras
    import numpy as np

    draw = np.random.default_rng(3)
    given = keras.Input(shape)
    if kind == "gates":
        gate = keras.layers.Dense(shape[-1], "sigmoid")
        y = keras.layers.Multiply()([given, gate(keras.layers.GlobalAveragePooling2D()(given))])
        y = keras.layers.GlobalMaxPooling2D()(y)
    elif kind == "activations":
        gate = keras.layers.Dense(5)
        y = gate(keras.layers.Flatten()(keras.layers.Permute((3, 1, 2))(keras.ops.tanh(given))))
    else:
        gate = keras.layers.Dense(4)
        y = gate(keras.ops.mean(keras.ops.relu(given), axis=1))
    model = keras.Model(given, y)
    model.set_weights([draw.standard_normal(w.shape).astype("float32") for w in model.get_weights()])
    model.save(folder / "a.keras")

    class Twin(nn.Module):
        def __init__(self):
            super().__init__()
            w, b = gate.get_weights()
            self.gate = nn.Linear(*w.shape)
            self.gate.load_state_dict({"weight": torch.tensor(w.T), "bias": torch.tensor(b)})

        def forward(self, x):
            if kind == "gates":
                return (x * torch.sigmoid(self.gate(x.mean((2, 3))))[:, :, None, None]).amax((2, 3))
            if kind == "activations":
                return self.gate(torch.tanh(x).flatten(1))
            return self.gate(torch.relu(x).mean(1))

    rows = shape if kind == "sequence" else (shape[-1], *shape[:-1])
    torch.export.save(torch.export.export(Twin().eval(), (torch.zeros(2, *rows),)), folder / "b.pt2")
    return folder / "a.keras", folder / "b.pt2"


@pytest.mark.parametrize("kind,shape", [("gates", (8, 7, 4)), ("gates", (6, 6, 6)), ("activations", (8, 7, 4)), ("sequence", (6, 5)),
                                        ("sequence", (5, 5))])  # fmt: skip
def test_where_no_layer_names_channels_the_sizes_and_the_frameworks_tell(kind, shape, tmp_path):
    a, b = unnamed_pair(kind, shape, tmp_path)
    said = convoy("diff", a, b).stdout
    assert ("channels last" in said) == (kind != "sequence")
    convoy("diff", b, a)
    convoy("weights", a, b, "--copy", "-o", tmp_path / "copied.pt")


@pytest.mark.parametrize("counts, is_same", [(False, True), (True, False)])
@pytest.mark.parametrize("turned", ["x.transpose(1, 2)", "x.permute(0, 2, 1)"])
def test_source_that_turns_its_input_itself_takes_it_as_it_stands(turned, counts, is_same, tmp_path):
    keras = pytest.importorskip("keras")
    x = keras.Input((7, 5))
    model = keras.Model(x, keras.layers.AveragePooling1D(3, 1, padding="same")(x))
    model.save(tmp_path / "a.keras")
    text = f"""
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def forward(self, x):
        return F.avg_pool1d({turned}, 3, 1, padding=1, count_include_pad={counts}).transpose(1, 2)
"""
    (tmp_path / "b.py").write_text(text)
    scope = {}
    exec(text, scope)
    numbers = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(1))
    made = torch.from_numpy(model(numbers.numpy()).numpy())
    assert torch.allclose(made, scope["Net"]()(numbers), atol=1e-6) == is_same
    for pair in ((tmp_path / "a.keras", f"{tmp_path}/b.py:Net"), (f"{tmp_path}/b.py:Net", tmp_path / "a.keras")):
        said = convoy("diff", *pair, code=0 if is_same else 1).stdout
        assert "channels last" not in said and ("pool_divisor" in said) == (not is_same)


@pytest.mark.parametrize("layer, shape", [(nn.MaxPool1d(3, 2, 1), "2,3,12"), (nn.AvgPool2d(3, 2, 1), "1,3,13,10"),
                                          (nn.Conv2d(4, 8, (3, 2)), "1,4,11,9")], ids=["max", "average", "convolution"])
@pytest.mark.parametrize("target", ["keras", "tflite", "onnx"])
def test_a_shape_is_for_the_one_that_states_none(layer, shape, target, tmp_path):
    """Scripts know no shape; their ports state one, in the axes of their own framework."""
    script, written = tmp_path / "net.pt", tmp_path / f"port.{target}"
    torch.jit.script(nn.Sequential(layer).eval()).save(script)
    convoy("port", script, "--shape", f"input={shape}", "-o", written)
    for a, b in [(script, written), (written, script)]:
        assert "\nsame: " in convoy("diff", a, b, "--shape", f"input={shape}").stdout


def test_bits_of_whole_numbers_that_rounding_moves(tmp_path):
    """A cast to whole numbers may be one off, and is a whole number still."""
    class Bits(nn.Module):
        def forward(self, x):
            return (x * 10).int() & 6

    torch.jit.trace(Bits(), torch.randn(1, 3, 9, 7)).save(tmp_path / "net.pt")
    for target in ("py", "keras"):
        convoy("port", tmp_path / "net.pt", "-o", tmp_path / f"port.{target}")
        convoy("diff", tmp_path / "net.pt", tmp_path / f"port.{target}")
