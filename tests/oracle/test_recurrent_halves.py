"""Recurrent layers of 16 bits: convoy answers as Keras on TensorFlow and PyTorch do, to the last bit, and ports stay within roundings."""

import importlib.util
import os

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import keras
import numpy as np
import onnxruntime
import pytest
import torch
from carrying import convoy
from keras import layers

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
BATCH, STEPS, FEATURES, UNITS = 3, 7, 5, 6
CELLS = {
    "lstm": lambda **more: layers.LSTM(UNITS, return_sequences=True, **more),
    "gru": lambda **more: layers.GRU(UNITS, **more),
    "gru_reset_before": lambda **more: layers.GRU(UNITS, reset_after=False, return_sequences=True, **more),
    "simple_rnn": lambda **more: layers.SimpleRNN(UNITS, go_backwards=True, **more),
    "both_ways": lambda **more: layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True, **more), **more),
}


def answered(folder, file):
    convoy("run", file, "--input", folder / "x.npy", "-o", folder / "y.npy", "--force")
    return np.load(folder / "y.npy").astype("float32")


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    port = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(port)
    return port.load()


def roundings(got, wanted, dtype):
    """By how many roundings of a number of that size, at least 0.5, it is off."""
    got = np.asarray(got).astype("float32")
    assert got.shape == wanted.shape
    return (np.abs(got - wanted) / (UNIT[dtype] * np.maximum(np.abs(wanted), 0.5))).max()


def assert_met(got, wanted, dtype):
    """To the last bit where sums of float32 meet in the framework's order, which hangs on the processor."""
    assert roundings(got, wanted, dtype) <= 2 and (np.asarray(got).astype("float32") == wanted).mean() > 0.9


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
@pytest.mark.parametrize("cell", list(CELLS))
def test_keras_is_met_to_the_last_bit(cell, policy, tmp_path):
    rng = np.random.default_rng(3)
    sequence = keras.Input((STEPS, FEATURES))
    net = keras.Model(sequence, CELLS[cell](dtype=policy)(sequence))
    for weight in net.weights:
        weight.assign(rng.normal(size=weight.shape).astype("float32") * 0.5)
    x = rng.normal(size=(BATCH, STEPS, FEATURES)).astype("float32")
    wanted = np.asarray(net.predict(x, verbose=0)).astype("float32")
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    dtype = policy.removeprefix("mixed_")
    assert_met(answered(tmp_path, tmp_path / "net.keras"), wanted, dtype)
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "again.keras")
    again = keras.models.load_model(tmp_path / "again.keras")
    assert np.array_equal(np.asarray(again.predict(x, verbose=0)).astype("float32"), wanted)
    # TensorFlow's sigmoid rounds three times and its product cuts bfloat16 off, which PyTorch's do not.
    convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.py")
    with torch.no_grad():
        assert roundings(module(tmp_path / "port.py")(torch.from_numpy(x)).float().numpy(), wanted, dtype) <= 8
    if dtype == "bfloat16":
        refused = convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.onnx", code=6).stderr
        assert "walks in bfloat16, of which ONNX Runtime has no recurrent kernel; --float32 carries" in refused
        return
    said = convoy("port", tmp_path / "net.keras", "-o", tmp_path / "port.onnx").stdout
    assert "walks in float32 and rounds what it gives to float16" in said
    session = onnxruntime.InferenceSession(str(tmp_path / "port.onnx"))
    assert roundings(session.run(None, {session.get_inputs()[0].name: x})[0], wanted, dtype) <= 8


def test_a_mask_of_16_bits_is_followed(tmp_path):
    rng = np.random.default_rng(4)
    sequence = keras.Input((STEPS, FEATURES))
    masked = layers.Masking(dtype="mixed_float16")(sequence)
    net = keras.Model(sequence, layers.GRU(UNITS, return_sequences=True, dtype="mixed_float16")(masked))
    for weight in net.weights:
        weight.assign(rng.normal(size=weight.shape).astype("float32") * 0.5)
    x = rng.normal(size=(BATCH, STEPS, FEATURES)).astype("float32")
    x[0, 4:], x[1, 2] = 0, 0
    net.save(tmp_path / "net.keras")
    np.save(tmp_path / "x.npy", x)
    wanted = np.asarray(net.predict(x, verbose=0)).astype("float32")
    assert_met(answered(tmp_path, tmp_path / "net.keras"), wanted, "float16")


class Walk(torch.nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.cell = getattr(torch.nn, kind)(FEATURES, UNITS, **more)
        with torch.no_grad():
            for weight in self.cell.parameters():
                weight.copy_(torch.randn(weight.shape) * 0.5)

    def forward(self, x):
        return self.cell(x)[0]


# PyTorch adds the bias within the product where the numbers lie in the order of time, which is as the batch and the steps say.
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("batch", [1, BATCH])
@pytest.mark.parametrize("kind, more", [
    ("LSTM", {}), ("LSTM", {"batch_first": True, "num_layers": 2, "bidirectional": True}), ("GRU", {}),
    ("GRU", {"batch_first": True}), ("RNN", {"batch_first": True}), ("RNN", {"nonlinearity": "relu", "bias": False}),
])
def test_pytorch_is_met_to_the_last_bit(kind, more, batch, dtype, tmp_path):
    torch.manual_seed(5)
    net = Walk(kind, **more).to(getattr(torch, dtype)).eval()
    x = torch.randn(batch if more.get("batch_first") else STEPS, STEPS if more.get("batch_first") else batch, FEATURES)
    x = x.to(getattr(torch, dtype))
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False):  # oneDNN rounds as the processor has instructions for it
        wanted = net(x)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    np.save(tmp_path / "x.npy", x.float().numpy())
    assert_met(answered(tmp_path, tmp_path / "net.pt2"), wanted.float().numpy(), dtype)
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.py")
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False):
        assert torch.equal(module(tmp_path / "port.py")(x), wanted)
    convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "port.keras")
    keras_net = keras.models.load_model(tmp_path / "port.keras")
    got = np.asarray(keras_net.predict(x.float().numpy(), verbose=0)).astype("float32")
    assert roundings(got, wanted.float().numpy(), dtype) <= 8 * more.get("num_layers", 1)
