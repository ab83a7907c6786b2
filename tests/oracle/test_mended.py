"""`convoy diff A B --fix`: the mended B, run by its own framework, gives the numbers that A's framework gave."""
import subprocess

import numpy as np
import pytest
from carrying import CONVOY, cases_in

PAIRS = cases_in("corpus/pairs")
NAMES = [] if PAIRS is None else sorted(p.name for p in PAIRS.iterdir() if not p.name.startswith("equal_")
                                        and (p / "a_output_0.npy").exists() and (p / "b.onnx").exists())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", NAMES)
def test_a_mended_onnx_model_gives_the_originals_numbers(name, tmp_path):
    import onnxruntime

    pair = PAIRS / name
    done = subprocess.run([CONVOY, "diff", pair / "a.keras", pair / "b.onnx", "--fix", "-o", tmp_path, "-q"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "mended" in done.stderr, done.stderr
    assert subprocess.run([CONVOY, "diff", pair / "a.keras", tmp_path / "b.onnx", "-q"]).returncode == 0
    session = onnxruntime.InferenceSession(tmp_path / "b.onnx", providers=["CPUExecutionProvider"])
    image, wanted = np.load(pair / "a_input_0.npy"), np.load(pair / "a_output_0.npy")
    if image.ndim == 4:
        image = image.transpose(0, 3, 1, 2)
    [got] = session.run(None, {session.get_inputs()[0].name: image})
    if wanted.ndim == 4:
        wanted = wanted.transpose(0, 3, 1, 2)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5 * max(1, np.abs(wanted).max()))


LAST = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.walk = nn.{cell}(5, 8, batch_first=True)
        self.answer = nn.Linear(8, 3)

    def forward(self, x):
        return self.answer({last})
"""


@pytest.mark.parametrize(("cell", "last"), [("LSTM", "self.walk(x)[0][:, -1]"), ("GRU", "self.walk(x)[0][:, -1, :]"),
                                            ("LSTM", "self.walk(x)[0][:, 0]"), ("LSTM", "self.walk(x)[1][0][-1]")])  # fmt: skip
def test_a_mended_cell_gives_the_originals_last_step(cell, last, tmp_path):
    """The original gives [N, 8], the program [N, T, 8], of which it takes one step."""
    import importlib.util

    import keras
    import torch
    from safetensors.torch import save_file

    functions = {"activation": "relu"} if last.endswith("-1]") else {}
    layer = getattr(keras.layers, cell)(8, name="walk", **functions)
    model = keras.Sequential([keras.Input((6, 5)), layer, keras.layers.Dense(3, name="answer")])
    rng = np.random.default_rng(3)
    for weight in model.weights:
        weight.assign(rng.normal(0, 0.4, weight.shape).astype(np.float32))
    model.save(tmp_path / "model.keras")
    (tmp_path / "net.py").write_text(LAST.format(cell=cell, last=last))
    kernel, recurrent, bias, dense, offset = (torch.from_numpy(np.asarray(w)) for w in model.get_weights())
    order = [1, 0, 2] if cell == "GRU" else [0, 1, 2, 3]
    blocks = lambda t: torch.cat([t.chunk(len(order))[i] for i in order]).contiguous()  # noqa: E731
    first, second = bias if cell == "GRU" else (bias, torch.zeros_like(bias))
    weights = {"weight_ih": kernel.T, "weight_hh": recurrent.T, "bias_ih": first, "bias_hh": second}
    save_file({f"walk.{name}_l0": blocks(tensor) for name, tensor in weights.items()}
              | {"answer.weight": dense.T.contiguous(), "answer.bias": offset}, tmp_path / "net.safetensors")  # fmt: skip
    words = ["--weights-b", tmp_path / "net.safetensors", "--fix", "-o", tmp_path / "mended"]
    if cell == "GRU":  # nothing differs there but this
        text = (tmp_path / "net.py").read_text()
        (tmp_path / "net.py").write_text(text.replace("self.answer(", "self.answer(0.5 * "))
    done = subprocess.run([CONVOY, "diff", tmp_path / "model.keras", f"{tmp_path / 'net.py'}:Net", *words, "-q"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "mended" in done.stderr, done.stderr
    spec = importlib.util.spec_from_file_location("net", tmp_path / "mended" / "net.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = rng.normal(size=(4, 6, 5)).astype(np.float32)
    with torch.no_grad():
        got = module.load()(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(got, np.asarray(model(x)), rtol=1e-4, atol=1e-5)
