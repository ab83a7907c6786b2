"""Networks drawn at random, from PyTorch into every format: each real framework answers as PyTorch does.

What rounding does to a network is asked of PyTorch itself, in float64. A port that is refused says why; none may end otherwise."""
import json

import numpy as np
import pytest
from carrying import Crossing, convoy, import_file, plain_session, port

torch = pytest.importorskip("torch")
from random_networks import drawn  # noqa: E402

SUFFIXES = {"torch": "py", "keras": "py", "onnx": "onnx", "tflite": "tflite"}


def answers(net, x):
    with torch.no_grad():
        y = net(x)
    return [one.numpy() for one in (y if isinstance(y, tuple) else (y,))]


def in_onnx(path, given, _):
    session = plain_session(path)
    return session.run(None, {session.get_inputs()[0].name: given})


def in_tflite(path, given, outputs):
    tf = pytest.importorskip("tensorflow")
    interpreter = tf.lite.Interpreter(str(path))
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], given.shape)
    run = interpreter.get_signature_runner()
    made = run(**{next(iter(run.get_input_details())): given})
    return [made[row.name] for row in outputs]


def in_keras(path, given, _):
    pytest.importorskip("keras")
    y = import_file(path).load()(given)
    return [np.asarray(one) for one in (y if isinstance(y, (list, tuple)) else [y])]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(400))
def test_every_framework_answers_as_pytorch_does(seed, tmp_path):
    net, x = drawn(seed)
    batch = torch.export.Dim("batch")
    source = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net, (x,), dynamic_shapes=({0: batch},)), source)
    more = torch.randn(3, *x.shape[1:], generator=torch.Generator().manual_seed(seed))
    want = answers(net, more)
    exact = answers(net.double(), more.double())
    for target, suffix in SUFFIXES.items():
        path = tmp_path / f"port_{target}.{suffix}"
        done = convoy("port", source, "--to", target, "-o", path, "--json", code=None)
        assert done.returncode in (0, 6), (target, done.stderr)
        if done.returncode == 6:
            assert "layer '" in done.stderr
            continue
        if target == "torch":
            got = port([source], path)([more.numpy()])
        else:
            report = json.loads(done.stdout)
            inputs, outputs = ([Crossing.of(row) for row in report[side]] for side in ("inputs", "outputs"))
            run = {"keras": in_keras, "onnx": in_onnx, "tflite": in_tflite}[target]
            made = run(path, inputs[0].to_port(more.numpy()), outputs)
            got = [crossing.from_port(y) for crossing, y in zip(outputs, made, strict=True)]
        for y, ours, true in zip(want, got, exact, strict=True):
            assert ours.shape == y.shape, target
            allowed = 1e-4 * max(1, np.abs(y).max()) + 30 * np.abs(y - true).max()
            assert np.abs(ours - y).max() <= allowed, (target, np.abs(ours - y).max(), allowed)
