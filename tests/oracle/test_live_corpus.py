"""Every model of the corpora as a live object: a Keras model through `to_torch`, a PyTorch module through `to_keras`, both through
`load`, `diff` and `assert_same`, with the numbers that the command gives for their files."""
import importlib.util
import json
import warnings

import numpy as np
import pytest
from carrying import Crossing, assert_close, by_name, cases_in, convoy, port, run_natively
from test_corpus import MAY_BE_REFUSED
from test_keras_written import answers, stored

KERAS, TORCH = (cases_in(f"corpus/{name}") for name in ("keras", "torch"))
TOLERANCE = 2e-4  # across formats, as the corpus itself was checked


def cases(folder, file: str) -> list[str]:
    found = [] if folder is None else sorted(folder.glob("*/case.json"))
    return [f.parent.name for f in found if (f.parent / file).exists() and not json.loads(f.read_text()).get("refuse")]


def live_keras(name: str):
    """The model as the Keras that wrote it opens it."""
    import keras

    if name.startswith("old_"):
        tf_keras = pytest.importorskip("tf_keras")
        return tf_keras.models.load_model(KERAS / name / "model.keras", compile=False)
    return keras.saving.load_model(KERAS / name / "model.keras", compile=False)


def live_module(name: str):
    import torch

    spec = importlib.util.spec_from_file_location(f"corpus_{name}", TORCH / name / "module.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    net = module.Net()
    if (TORCH / name / "state_dict.pt").exists():
        net.load_state_dict(torch.load(TORCH / name / "state_dict.pt"))
    return net.eval()


def answers_of(module, crossings: dict, inputs: list) -> list:
    """What a live module of `to_torch` gives, its axes as the original has them."""
    import torch

    with torch.inference_mode():
        y = module(*by_name(module, crossings["inputs"], [torch.from_numpy(c.to_port(x)) for c, x in zip(crossings["inputs"], inputs, strict=True)]))
    several = [y[c.name] for c in crossings["outputs"]] if isinstance(y, dict) else list(y) if isinstance(y, (tuple, list)) else [y]
    return [c.from_port(out.numpy()) for c, out in zip(crossings["outputs"], several, strict=True)]


def crossings_by_command(source, path) -> tuple[dict | None, str]:
    """How inputs and outputs lie in the port of the file by the command; nothing, and its words, where it refuses."""
    done = convoy("port", source, "--to", "torch" if path.suffix == ".py" else "keras", "-o", path, "--json", code=None)
    if done.returncode == 6:
        return None, done.stderr
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return {side: [Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs")}, ""


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", cases(KERAS, "model.keras"))
def test_a_live_keras_model(name, python_module, tmp_path):
    model, (inputs, wanted) = live_keras(name), next(stored(KERAS, name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crossings, words = crossings_by_command(KERAS / name / "model.keras", tmp_path / "net.py")
        if crossings is None:
            assert name in MAY_BE_REFUSED, words
            with pytest.raises(python_module.Unsupported):
                python_module.to_torch(model)
            return
        names = [row["name"] for row in json.loads((KERAS / name / "case.json").read_text())["inputs"]]
        by_command = run_natively([KERAS / name / "model.keras"], dict(zip(names, inputs, strict=True)), tmp_path)
        given = python_module.load(model)(*inputs)
        for a, b in zip(given if isinstance(given, tuple) else (given,), by_command, strict=True):
            np.testing.assert_array_equal(a, b)
        module = python_module.to_torch(model)
        got = answers_of(module, crossings, inputs)
        assert_close(got, wanted, TOLERANCE, name)
        for a, b in zip(got, port([KERAS / name / "model.keras"], tmp_path / "again.py")(inputs), strict=True):
            np.testing.assert_array_equal(a, b)  # as the command's own port
        python_module.assert_same(model, module, *inputs)
        assert python_module.diff(model, module, *inputs).same


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", cases(TORCH, "module.py"))
def test_a_live_module(name, python_module, tmp_path):
    net, (inputs, wanted) = live_module(name), next(stored(TORCH, name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crossings, words = crossings_by_command(TORCH / name / "model.pt2", tmp_path / "net.keras")
        if crossings is None:
            with pytest.raises(python_module.Unsupported):
                python_module.to_keras(net, *inputs)
            pytest.skip(words.strip())
        given = python_module.load(net, *inputs)(*inputs)
        assert_close(list(given) if isinstance(given, tuple) else [given], wanted, TOLERANCE, name)
        model = python_module.to_keras(net, *inputs)
        assert_close(answers(model, crossings, inputs), wanted, TOLERANCE, name)
        python_module.assert_same(net, model, *inputs)
        assert python_module.diff(net, model, *inputs).same
