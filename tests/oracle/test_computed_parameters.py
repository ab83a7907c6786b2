"""Norms whose scale and shift the model computes: the port, in real PyTorch, Keras and ONNX Runtime."""
import keras
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from carrying import assert_close, convoy, import_file, plain_session

X = torch.arange(2 * 6 * 5 * 7, dtype=torch.float32).remainder(13).reshape(2, 6, 5, 7) / 4
SIX, SEVEN = torch.arange(1, 7) / 4, torch.arange(2, 9) / 8
CASES = {
    "layer": (lambda x, w, b: F.layer_norm(x, (7,), w, b), (X, SEVEN, SEVEN - 1)),
    "layer_of_two_axes": (lambda x, w: F.layer_norm(x, (5, 7), w), (X, torch.arange(35).reshape(5, 7) / 8)),
    "group": (lambda x, w, b: F.group_norm(x, 3, w, b), (X, SIX, SIX - 1)),
    "group_shifted_alone": (lambda x, b: F.group_norm(x, 2, None, b), (X, SIX)),
    "instance": (lambda x, w, b: F.instance_norm(x, None, None, w, b), (X, SIX, SIX - 1)),
    "rms": (lambda x, w: F.rms_norm(x, (7,), w, 1e-5), (X, SEVEN)),
}


@pytest.mark.parametrize("target", ["py", "keras", "onnx"])
@pytest.mark.parametrize("name", CASES)
def test_scale_and_shift_are_computed(name, target, tmp_path):
    function, given = CASES[name]

    class Net(torch.nn.Module):
        def forward(self, *all_of_them):
            return function(*all_of_them)

    torch.export.save(torch.export.export(Net(), given, strict=False), tmp_path / "m.pt2")
    port = tmp_path / f"port.{target}"
    convoy("port", tmp_path / "m.pt2", "-o", port, "--interface", "source")
    arrays = [t.numpy() for t in given]
    if target == "py":
        got = import_file(port).load()(*given).detach().numpy()
    elif target == "keras":
        got = np.asarray(keras.models.load_model(port)(arrays))
    else:
        session = plain_session(port)
        got = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})[0]
    assert_close([got], [function(*given).numpy()], 1e-5)
