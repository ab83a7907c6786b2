"""What `convoy weights FILE -o OUT` writes, opened by the libraries whose files they are: every tensor as PyTorch, h5py,
safetensors and numpy read it from the source, byte for byte."""
import inspect
import json
import os
import sys
from unittest.mock import patch

import numpy as np
import pytest
import torch
from carrying import cases_in, convoy, import_file

FORMS = ["safetensors", "weights.h5", "npz", "pt"]
TORCH = cases_in("corpus/torch")
KERAS = cases_in("corpus/keras")
CHECKPOINTS = cases_in("checkpoints")
TORCH_FILES = ["state_dict.pt", "state_dict_legacy.pt", "model.pickle.pt", "model.safetensors", "model.pt2"]


def torch_files() -> list:
    if TORCH is None:
        return []
    return [f for case in sorted(TORCH.iterdir()) for f in (case / name for name in TORCH_FILES) if f.exists()]


def keras_files() -> list:
    cases = [KERAS / name for name in ("bfloat16_weights", "nested", "old_nested", "lstm_sequences", "compiled_trained")]
    names = ["model.keras", "model.h5", "model.weights.h5", "model_weights.h5"]
    return [f for case in cases for f in (case / name for name in names) if f.exists()]


def bits(array) -> tuple:
    """Shape, kind of element and bytes of a numpy array or a torch tensor."""
    import torch

    if isinstance(array, torch.Tensor):
        tensor = array.detach().contiguous()
        kind = str(tensor.dtype).removeprefix("torch.")
        return tuple(tensor.shape), kind, tensor.flatten().view(torch.uint8).numpy().tobytes()
    array = np.asarray(array)
    kind = "bfloat16" if array.dtype == np.dtype("V2") else array.dtype.name
    return array.shape, kind, np.ascontiguousarray(array).tobytes()


def datasets(file) -> dict:
    import h5py

    found = {}
    with h5py.File(file, "r") as opened:
        opened.visititems(lambda name, node: found.update({name: node[()]}) if isinstance(node, h5py.Dataset) else None)
    return found


def opened(file) -> dict:
    """Every tensor of a written file, read by its own library."""
    name = file.name
    if name.endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(file)
    if name.endswith(".h5"):
        return datasets(file)
    if name.endswith(".npz"):
        with np.load(file, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    import torch

    mapped = torch.load(file, weights_only=True, mmap=True)
    plain = torch.load(file, weights_only=True)
    assert list(mapped) == list(plain)
    return plain


def widened(wanted: tuple) -> tuple:
    """numpy has no bfloat16: its numbers as float32."""
    shape, kind, content = wanted
    if kind != "bfloat16":
        return wanted
    wide = np.frombuffer(content, np.uint16).astype(np.uint32) << 16
    return shape, "float32", wide.tobytes()


def agree(written: dict, wanted: dict, form: str):
    assert set(written) == set(wanted)
    for name, value in wanted.items():
        expected = widened(bits(value)) if form == "npz" else bits(value)
        assert bits(written[name]) == expected, name


def tensors_of_torch(file) -> dict:
    """The state_dict as PyTorch itself shows it."""
    import torch

    if file.name.endswith(".safetensors"):
        return opened(file)
    if file.name.endswith(".pt2"):
        program = torch.export.load(file)
        constants = {name: value for name, value in program.constants.items() if isinstance(value, torch.Tensor)}
        return {**program.state_dict, **constants}
    if file.name == "model.pickle.pt":  # a whole module: buffers that a state_dict leaves out are in it
        module = import_file(file.with_name("module.py"))
        with patch.dict(sys.modules, {"module": module}):
            net = torch.load(file, weights_only=False)
        return {**dict(net.named_parameters(remove_duplicate=False)), **dict(net.named_buffers(remove_duplicate=False))}
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("file", torch_files(), ids=lambda file: f"{file.parent.name}-{file.name}")
@pytest.mark.sampled(24)
def test_tensors_of_torch_arrive_in_every_form(file, tmp_path):
    wanted = tensors_of_torch(file)
    if not wanted:
        done = convoy("weights", file, "-o", tmp_path / "a.npz", code=6)
        assert "holds no tensors" in done.stderr
        return
    for form in FORMS:
        out = tmp_path / f"a.{form}"
        report = json.loads(convoy("weights", file, "-o", out, "--json").stdout)
        assert {row["target"] for row in report["tensors"]} == set(wanted)
        agree(opened(out), wanted, form)


@pytest.mark.parametrize("file", keras_files(), ids=lambda file: f"{file.parent.name}-{file.name}")
def test_tensors_of_keras_arrive_in_every_form(file, tmp_path):
    import io
    import zipfile

    source = io.BytesIO(zipfile.ZipFile(file).read("model.weights.h5")) if file.suffix == ".keras" else file
    wanted = {name.removeprefix("model_weights/"): value for name, value in datasets(source).items()}
    wanted = {name: value for name, value in wanted.items() if not name.startswith("optimizer_weights/")}
    for form in FORMS:
        out = tmp_path / f"a.{form}"
        convoy("weights", file, "-o", out)
        agree(opened(out), wanted, form)


@pytest.mark.parametrize("name", ["nested", "lstm_sequences", "net_mini_mobilenet_v3", "frozen_nested", "multi_io"])
def test_keras_loads_weights_that_went_through_other_forms(name, tmp_path):
    import keras

    file = KERAS / name / "model.keras"
    model = keras.models.load_model(file, compile=False)
    before = [np.array(value) for value in model.get_weights()]
    convoy("weights", file, "-o", tmp_path / "a.safetensors")
    convoy("weights", tmp_path / "a.safetensors", "-o", tmp_path / "a.weights.h5")
    model.set_weights([np.zeros_like(value) for value in before])
    model.load_weights(tmp_path / "a.weights.h5")
    assert len(before) > 0
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_strided_training_checkpoint_is_dense_and_the_same(tmp_path):
    import torch

    wanted = torch.load(CHECKPOINTS / "views.pt", weights_only=True)
    flat = {}

    def walk(value, name):
        if isinstance(value, torch.Tensor):
            flat[name] = value
        elif isinstance(value, (dict, list, tuple)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, inner in items:
                walk(inner, f"{name}.{key}" if name else str(key))

    walk(wanted, "")
    assert any(not value.is_contiguous() for value in flat.values())
    for form in FORMS:
        out = tmp_path / f"a.{form}"
        convoy("weights", CHECKPOINTS / "views.pt", "-o", out)
        agree(opened(out), flat, form)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
                                  "uint16", "uint32", "uint64", "bool"])
def test_every_type_of_element_stays(kind, tmp_path):
    import torch

    numbers = (torch.arange(30).reshape(2, 3, 5) % 7 - 3).abs().to(getattr(torch, kind))
    sets = {"a.weight": numbers, "a.one": numbers[1, 2, 3].clone(), "a.none": numbers[:, :0], "b.turned": numbers.permute(2, 0, 1)}
    torch.save({"state_dict": {"module." + name: value for name, value in sets.items()}, "epoch": 3}, tmp_path / "in.pt")
    for form in FORMS:
        out = tmp_path / f"a.{form}"
        convoy("weights", tmp_path / "in.pt", "--below", "state_dict.module", "-o", out)
        agree(opened(out), sets, form)


def test_weight_norm_becomes_the_weight_that_torch_computes_with(tmp_path):
    import torch
    from torch.nn.utils import parametrizations, weight_norm

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        parametrizations.weight_norm(torch.nn.Conv2d(3, 4, (2, 5))),
        parametrizations.weight_norm(torch.nn.ConvTranspose1d(4, 3, 2), dim=1),
        weight_norm(torch.nn.Linear(6, 5), dim=None),
    ).double()
    net[2](torch.zeros(1, 6).double())  # the older form makes its weight when it is called
    wanted = {"0.weight": net[0].weight, "0.bias": net[0].bias, "1.weight": net[1].weight, "1.bias": net[1].bias,
              "2.weight": net[2].weight, "2.bias": net[2].bias}
    torch.save(net.state_dict(), tmp_path / "in.pt")
    convoy("weights", tmp_path / "in.pt", "--plain", "-o", tmp_path / "a.pt")
    plain = torch.load(tmp_path / "a.pt", weights_only=True)
    assert set(plain) == set(wanted)
    for name, value in wanted.items():
        assert plain[name].dtype == value.dtype
        torch.testing.assert_close(plain[name], value.detach(), rtol=1e-14, atol=0)


def test_the_same_source_gives_the_same_bytes(tmp_path):
    for form in FORMS:
        written = []
        for attempt in ("one", "two"):
            (tmp_path / attempt).mkdir(exist_ok=True)
            out = tmp_path / attempt / f"a.{form}"
            convoy("weights", CHECKPOINTS / "views.pt", "-o", out)
            written.append(out.read_bytes())
        assert written[0] == written[1]
        os.unlink(tmp_path / "two" / f"a.{form}")


@pytest.mark.parametrize("file", ["state_dict.pt", "model.safetensors", "model.pickle.pt"])
def test_a_file_without_a_graph_says_how_to_get_one(file, tmp_path):
    if TORCH is None:
        pytest.skip("no torch corpus beside the project")
    for target in ("net.py", "net.onnx"):
        done = convoy("port", TORCH / "act_leaky" / file, "-o", tmp_path / target, code=6)
        assert 'torch.export.save(torch.export.export(model.eval(), (x,)), "model.pt2")' in done.stderr


@pytest.mark.parametrize("zipped", [False, True], ids=["old", "zip"])
def test_a_tensor_of_complex_numbers_is_refused_by_its_class(zipped, tmp_path):
    import torch

    held = {"w": torch.ones(2, 3), "c": torch.ones(2, 2, dtype=torch.complex64)}
    torch.save(held, tmp_path / "net.pt", _use_new_zipfile_serialization=zipped)
    assert "a storage of class 'torch ComplexFloatStorage' is not carried" in convoy("weights", tmp_path / "net.pt", code=6).stderr


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_checkpoint_in_the_older_form_is_read_whatever_protocol_it_was_pickled_by(protocol, tmp_path):
    torch = pytest.importorskip("torch")
    tensors = {"w": torch.arange(6.0).reshape(2, 3), "n.b": torch.arange(5) - 3}
    torch.save(tensors, tmp_path / "old.pth", pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    assert convoy("weights", tmp_path / "old.pth", "-o", tmp_path / "new.npz").returncode == 0
    with np.load(tmp_path / "new.npz") as stored:
        assert {name: stored[name].tolist() for name in stored} == {name: tensor.tolist() for name, tensor in tensors.items()}


class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(3, 4)

    def forward(self, x):
        return torch.relu(self.line(x))


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("saved", [lambda net: net, lambda net: {"epoch": 3, "model": net}])
def test_a_whole_module_is_told_from_a_state_dict(tmp_path, zipped, saved):
    """torch.save(model): its class is a name there, whose source reads with the file as its weights."""
    net = Whole().eval()
    torch.save(saved(net), tmp_path / "whole.pt", _use_new_zipfile_serialization=zipped)
    done = convoy("summary", tmp_path / "whole.pt", code=6)
    assert f"holds a whole module as torch.save(model) pickles it: its weights, and of its class the name '{__name__}.Whole' alone" in done.stderr
    torch.save(net, tmp_path / "alone.pt", _use_new_zipfile_serialization=zipped)
    (tmp_path / "net.py").write_text("import torch\n\n\n" + inspect.getsource(Whole))
    assert "16 parameters" in convoy("summary", f"{tmp_path}/net.py:Whole", "--weights", tmp_path / "alone.pt").stdout
    torch.save(net.state_dict(), tmp_path / "state.pt", _use_new_zipfile_serialization=zipped)
    assert "PyTorch checkpoint, which holds weights but no graph" in convoy("summary", tmp_path / "state.pt", code=6).stderr


def test_an_index_of_several_files_says_how_to_make_one_of_them(tmp_path):
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {"a.weight": "model-00001-of-00002.safetensors"}}))
    assert "save them as one" in convoy("weights", tmp_path / "model.safetensors.index.json", code=6).stderr
    (tmp_path / "other.json").write_text("{}")
    assert "name the file that does" in convoy("weights", tmp_path / "other.json", code=6).stderr
