"""Real models, trained and published by others: beside the project, never part of it."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from carrying import ROOT, SHARED, assert_close, check_itself, convoy, port, run_natively

MODELS = SHARED / "models"
pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="no models beside the project")

KERAS = {"keras-v3", "keras-h5"}


def listing():
    """(folder, file, its cases, the note of its refusal) of every Keras model."""
    for path in sorted(MODELS.glob("*/case.json")):
        row = json.loads(path.read_text())
        for file in row["files"]:
            if file["format"] in KERAS:
                note = file.get("note", "")
                cases = [c for c in row["cases"] if c["model"] == file["file"]]
                yield path.parent, file["file"], cases, note if "must be refused" in note else ""


ROWS = list(listing()) if MODELS.is_dir() else []
ACCEPTED = [row[:3] for row in ROWS if not row[3]]
REFUSED = [(row[0], row[1], row[3]) for row in ROWS if row[3]]


def arrays(folder, rows):
    return {row["name"]: np.load(folder / row["file"]) for row in rows}


def size_option(case) -> list:
    """Free sizes, for a case that changed the input of the file."""
    return ["--size", "?x?"] if "input shape changed" in case.get("note", "") else []


@pytest.mark.parametrize("folder, file, cases", ACCEPTED, ids=[r[1] for r in ACCEPTED])
def test_a_published_model_gives_its_stored_outputs(folder, file, cases, tmp_path):
    assert cases, "a model without a case"
    freed = max((size_option(case) for case in cases), default=[])
    ported = port([folder / file], tmp_path / "ported.py", *freed)
    for case in cases:
        inputs, want = arrays(folder, case["inputs"]), list(arrays(folder, case["outputs"]).values())
        assert_close(run_natively([folder / file], inputs, tmp_path, *size_option(case)), want, what=f"runtime, {case['id']}")
        assert_close(ported(list(inputs.values())), want, what=f"port, {case['id']}")
    assert "agrees" in check_itself(ported.path)


@pytest.mark.parametrize("folder, file, note", REFUSED, ids=[r[1] for r in REFUSED])
def test_a_model_with_layers_of_its_own_is_refused_by_name(folder, file, note, tmp_path):
    layer_class = note.split("layer class ")[1].split()[0].rstrip(",")
    done = convoy("port", folder / file, "--to", "torch", "-o", tmp_path / "x.py", code=6)
    assert layer_class in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_strangers_file_for_one_size_raises_on_any_other(tmp_path):
    import torch

    ported = port([MODELS / "fer" / "emotion_model.hdf5"], tmp_path / "emotion.py")
    assert ported.model(torch.zeros(1, 1, 64, 64)).shape == (1, 7)
    for size in ((65, 64), (64, 65), (32, 32)):
        with pytest.raises(Exception, match="64"):
            ported.model(torch.zeros(1, 1, *size))


def test_another_size_can_be_set(tmp_path):
    file = MODELS / "fer" / "emotion_model.hdf5"
    x, y = (np.load(MODELS / "fer" / f"size63x71.{name}.npy") for name in ("in.input", "out.output"))
    ported = port([file], tmp_path / "emotion.py", "--size", "63x71")
    assert_close(ported([x]), [y])


def test_a_file_of_weights_alone_is_listed():
    done = convoy("weights", MODELS / "crepe_tiny" / "model-tiny.h5")
    assert "conv1" in done.stdout


def test_a_pasted_block_normalises_the_height_as_keras_does(tmp_path):
    """BatchNormalization(axis=1) behind channels-last convolutions: over 30 rows, not 64 channels."""
    import keras

    names = {name: getattr(keras.layers, name) for name in dir(keras.layers)} | {"Sequential": keras.Sequential}
    keras.utils.set_random_seed(7)
    exec((SHARED / "snippets" / "keras_block.py").read_text(), names)
    net = names["net"]
    for layer in net.layers:  # statistics and biases that say something
        layer.set_weights([w + np.random.default_rng(w.size).uniform(0.1, 0.5, w.shape) for w in layer.get_weights()])
    file = tmp_path / "block.keras"
    net.save(file)
    assert "38,960 parameters (38,840 trainable, 120 not)" in convoy("summary", file).stdout
    x = np.random.default_rng(5).normal(size=(2, 32, 32, 3)).astype("float32")
    ported = port([file], tmp_path / "ported.py")
    assert_close(ported([x]), [np.asarray(net(x, training=False))], 1e-4)


def zoo(name, folder=ROOT / ".oracle" / "zoo"):
    """A well-known architecture with seeded weights, made once."""
    if not (folder / f"{name}.keras").exists():
        made = subprocess.run(
            [sys.executable, MODELS / "zoo" / "zoo.py", "make", MODELS / "zoo" / "zoo.json", folder, name],
            capture_output=True, text=True, check=True, env=os.environ,
        )
        assert "weights as expected" in made.stdout, made.stdout
    return folder


@pytest.mark.parametrize("form", ["keras", "h5"])
@pytest.mark.parametrize(
    "name", ["MobileNetV2", *(pytest.param(n, marks=pytest.mark.long) for n in ("ResNet50", "InceptionV3", "DenseNet121"))]
)
def test_a_large_architecture_crosses_at_an_even_and_an_odd_size(name, form, tmp_path):
    folder = zoo(name)
    row = next(r for r in json.loads((MODELS / "zoo" / "zoo.json").read_text()) if r["name"] == name)
    file = folder / f"{name}.{form}"
    ported = port([file], tmp_path / "ported.py", "--size", "?x?")
    (height, width), other = row["sizes"]
    case = f"{name}.{height}x{width}"
    x, want = np.load(folder / f"{case}.input.npy"), [np.load(MODELS / "zoo" / "expected" / f"{case}.output.npy")]
    # Hundreds of layers one behind the other: the difference of two frameworks grows with depth.
    assert_close(ported([x]), want, 1e-4, f"port, {case}")
    assert_close(run_natively([file], {"x": x}, tmp_path), want, 1e-4, f"runtime, {case}")
    # The same layers at another size. (Built anew for it, some architectures choose other ZeroPadding: another network.)
    x, want = at_another_size(file, other)
    assert_close(ported([x]), want, 1e-4, f"port, {name} at {other}")
    assert_close(run_natively([file], {"x": x}, tmp_path, "--size", "{}x{}".format(*other)), want, 1e-4, "runtime")


def at_another_size(file, size):
    """A seeded input of this size and what Keras computes with the layers and weights of the file."""
    import keras

    model = keras.models.load_model(file)
    freed = keras.models.clone_model(model, input_tensors=keras.Input((*size, model.inputs[0].shape[-1])))
    freed.set_weights(model.get_weights())
    x = np.random.default_rng(3).normal(size=(2, *size, model.inputs[0].shape[-1])).astype("float32")
    return x, [np.asarray(freed(x, training=False))]
