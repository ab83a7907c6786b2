"""Numbers at which a rule shows: lengths near an epsilon, zero times what is no number, places halfway between two cells."""

import importlib.util

import numpy as np
import pytest
from carrying import convoy, plain_session




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


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
def test_places_halfway_between_two_cells_are_the_same_cell(border, corners, tmp_path):
    """ONNX Runtime rounds a place before it reflects it, PyTorch behind it."""
    import onnxruntime
    import torch

    class Net(torch.nn.Module):
        def forward(self, x, grid):
            return torch.nn.functional.grid_sample(x, grid, "nearest", border, corners)

    x = torch.arange(1, 1 + 2 * 3 * 6 * 10, dtype=torch.float32).reshape(2, 3, 6, 10)
    grid = torch.tensor(np.random.default_rng(1).integers(-8, 9, (2, 5, 4, 2)).astype(np.float32) / 4)
    torch.export.save(torch.export.export(Net(), (x, grid)), tmp_path / "m.pt2")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.onnx")
    session = plain_session(tmp_path / "m.onnx")
    fed = {i.name: v.numpy() for i, v in zip(session.get_inputs(), (x, grid))}
    np.testing.assert_array_equal(session.run(None, fed)[0], Net()(x, grid).numpy())


def test_an_onnx_grid_that_rounds_before_it_reflects_is_refused(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode="nearest", padding_mode="reflection", align_corners=0)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 6, 10]),
         helper.make_tensor_value_info("g", TensorProto.FLOAT, [2, 5, 4, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3, 5, 4])],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), tmp_path / "m.onnx")
    done = convoy("port", tmp_path / "m.onnx", "--to", "torch", "-o", tmp_path / "m.py", code=6)
    assert "padding_mode 'reflection'" in done.stderr
