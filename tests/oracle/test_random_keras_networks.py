"""Networks drawn at random, from Keras into every format: each real framework answers as Keras does. A port that is refused says
why; none may end otherwise. What rounding does to a network is asked of Keras itself, by inputs that differ in the last bits."""
import json

import numpy as np
import pytest
from carrying import Crossing, convoy, run_natively

keras = pytest.importorskip("keras")
from random_keras_networks import drawn  # noqa: E402
from test_random_networks import SUFFIXES, in_keras, in_onnx, in_tflite  # noqa: E402


def in_torch(path, given, _):
    import torch
    from carrying import import_file

    with torch.no_grad():
        y = import_file(path).load()(torch.from_numpy(given))
    return [one.numpy() for one in (y if isinstance(y, (tuple, list)) else [y])]


RUNS = {"torch": in_torch, "keras": in_keras, "onnx": in_onnx, "tflite": in_tflite}


def shaken(model, given):
    """How far the answers move when every input moves by its last bits."""
    moved = given * (1 + 2.0**-22 * np.random.default_rng(1).choice([-1, 1], given.shape))
    return [np.asarray(y) for y in keras.tree.flatten(model(moved.astype(np.float32), training=False))]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(400))
def test_every_framework_answers_as_keras_does(seed, tmp_path):
    model, given, want = drawn(seed)
    source = tmp_path / "net.keras"
    model.save(source)
    allowed = [1e-4 * max(1, np.abs(y).max()) + 30 * np.abs(y - z).max() for y, z in zip(want, shaken(model, given), strict=True)]

    def agree(got, crossings=None):
        for i, (y, ours, most) in enumerate(zip(want, got, allowed, strict=True)):
            mine = crossings[i].from_port(ours) if crossings else ours
            assert mine.shape == y.shape
            assert np.abs(mine - y).max() <= most, (np.abs(mine - y).max(), most)

    agree(run_natively([source], {"x": given}, tmp_path))
    for target, suffix in SUFFIXES.items():
        path = tmp_path / f"port_{target}.{suffix}"
        done = convoy("port", source, "--to", target, "-o", path, "--json", code=None)
        assert done.returncode in (0, 6), (target, done.stderr)
        if done.returncode == 6:
            assert "layer '" in done.stderr, (target, done.stderr)
            continue
        report = json.loads(done.stdout)
        inputs, outputs = ([Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs"))
        agree(RUNS[target](path, inputs[0].to_port(given), outputs), outputs)
