"""Numbers at which a formula's guard speaks: lengths near its epsilon, and products of zero with what is no number."""

import importlib.util

import numpy as np
import pytest
from carrying import convoy




def imported(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["unit", "dot"])
def test_lengths_near_the_epsilon_of_keras_are_carried(kind, tmp_path):
    import keras
    import onnxruntime
    import torch

    layers = keras.layers
    if kind == "unit":
        x = keras.Input((5,))
        model = keras.Model(x, layers.UnitNormalization()(x))
    else:
        x, z = keras.Input((5,)), keras.Input((5,))
        model = keras.Model([x, z], layers.Dot(axes=1, normalize=True)([x, z]))
    model.save(tmp_path / "m.keras")
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "m.onnx")
    convoy("port", tmp_path / "m.keras", "-o", tmp_path / "again.keras")
    convoy("port", tmp_path / "m.keras", "--to", "torch", "-o", tmp_path / "written.py")
    rng = np.random.default_rng(3)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    written, again = imported(tmp_path / "written.py").load(), keras.saving.load_model(tmp_path / "again.keras")
    for size in (1, 1e-5, 1e-7, 1e-9):
        fed = [(rng.normal(size=(3, 5)) * size).astype(np.float32) for _ in model.inputs]
        want = np.asarray(model(fed if len(fed) > 1 else fed[0]))
        got = {
            "onnx": session.run(None, {i.name: x for i, x in zip(session.get_inputs(), fed)})[0],
            "torch": written(*map(torch.from_numpy, fed)).detach().numpy(),
            "keras": np.asarray(again(fed if len(fed) > 1 else fed[0])),
        }
        for name, numbers in got.items():
            np.testing.assert_allclose(numbers, want, rtol=2e-5, atol=1e-7, err_msg=f"{name} at {size}")


def test_zero_times_what_is_no_number_stays_so(tmp_path):
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.log(x) * 0 + torch.exp(x * 100) * 0 + torch.full_like(x, 3)

    x = torch.tensor([[0.0, -1.0, 0.5, 2.0], [1.0, 3.0, 0.25, -0.5]])
    batch = torch.export.Dim("batch", min=2, max=64)
    torch.export.save(torch.export.export(Net(), (x,), dynamic_shapes=({0: batch},)), tmp_path / "m.pt2")
    convoy("port", tmp_path / "m.pt2", "--to", "torch", "-o", tmp_path / "written.py")
    got = imported(tmp_path / "written.py").load()(x)
    np.testing.assert_array_equal(got.detach().numpy(), Net()(x).numpy())
