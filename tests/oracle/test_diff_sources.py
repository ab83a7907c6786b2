"""The pairs of source of tests/diagnose/source_pairs.py in both frameworks: with Keras's weights, transposed and no more, in
PyTorch's layers, those that are called the same answer alike, and those that hold a fault do not."""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "diagnose"))
import source_pairs  # noqa: E402


def executed(text):
    there = {}
    exec(text, there)  # noqa: S102  written above
    return there["model"] if "model" in there else there["Net"]()


def kernel_for_torch(name, weight):
    if weight.ndim < 2:
        return weight
    if "transpose" in name:
        return weight.transpose(3, 2, 0, 1)
    if "depthwise" in name:
        return weight.transpose(2, 3, 0, 1).reshape(-1, 1, *weight.shape[:2])
    return weight.transpose(weight.ndim - 1, weight.ndim - 2, *range(weight.ndim - 2))


def loaded(original, net, torch):
    """In order, while the shapes fit; false where they stop fitting."""
    parts = [m for m in net.modules() if getattr(m, "weight", None) is not None]
    layers = [layer for layer in original.layers if layer.weights]
    if len(parts) != len(layers):
        return False
    for layer, part in zip(layers, parts, strict=True):
        order = ["weight", "bias", "running_mean", "running_var"]
        for name, number in zip(order, layer.get_weights(), strict=False):
            numbers, place = kernel_for_torch(layer.name, number), getattr(part, name, None)
            if place is None or place.shape != numbers.shape:
                return False
            place.data.copy_(torch.from_numpy(numbers.copy()))
    return True


@pytest.mark.parametrize("row", source_pairs.PAIRS, ids=[row[0] for row in source_pairs.PAIRS])
def test_pair(row):
    keras, torch = pytest.importorskip("keras"), pytest.importorskip("torch")
    _, causes, _, shape, of_keras, of_torch = row
    keras.utils.clear_session()
    original = executed(source_pairs.keras_program(of_keras, shape))
    net = executed(source_pairs.torch_program(of_torch)).eval()
    random = np.random.default_rng(1)
    original.set_weights([random.uniform(0.2, 1, w.shape).astype(np.float32) * (1 if "variance" in v.path else random.choice([-1, 1], w.shape))
                          for v, w in zip(original.weights, original.get_weights(), strict=True)])
    # numbers beyond 6 for what is bounded there, and few enough of them for what saturates
    x = random.normal(size=(2, *shape)).astype(np.float32)
    channels_first = shape == source_pairs.STEPS or len(shape) == 3
    with torch.no_grad():
        fits = loaded(original, net, torch)
        answer = net(torch.from_numpy(np.moveaxis(x, -1, 1).copy() if channels_first else x)).numpy()
    want = np.asarray(original(x, training=False))
    answer = np.moveaxis(answer, 1, -1) if channels_first and answer.ndim == want.ndim > 2 else answer
    alike = fits and answer.shape == want.shape and np.abs(answer - want).max() <= 2e-5 * np.abs(want).max()
    cells = any("LSTM" in str(layer) for layer in of_keras)
    if causes or not cells:  # PyTorch orders the gates of a cell in its own way
        assert alike == (not causes)
