"""PyTorch source whose sizes are free, in every target at several sizes: what PyTorch answers."""
from pathlib import Path

import free_source
import numpy as np
import pytest
import torch
from carrying import convoy, import_file, plain_session, run_natively

SIZES = [(1, 1), (2, 5), (3, 9), (5, 3)]


def drawn(shapes: list[str], batch: int, length: int) -> list[torch.Tensor]:
    """The first free size is the batch, the second a length, the third one more; each input begins anew."""
    inputs = []
    for said in shapes:
        sizes, _, dtype = said.split("=")[-1].partition(":")
        free = iter([length, length + 1] if sizes.startswith("1,") else [batch, length, length + 1])
        shape = [next(free) if size == "?" else int(size) for size in sizes.split(",")]
        inputs.append(torch.randint(1, max(2, length), shape) if dtype else torch.randn(shape))
    return inputs


@pytest.mark.parametrize("name", free_source.CASES)
def test_sizes_that_are_free(name, tmp_path):
    import keras

    shapes = free_source.CASES[name]
    torch.manual_seed(3)
    net = getattr(free_source, name)().eval()
    said = [word for shape in shapes for word in ("--shape", shape)]
    if net.state_dict():
        torch.save(net.state_dict(), tmp_path / "w.pt")
        said += ["--weights", tmp_path / "w.pt"]
    source = f"{Path(free_source.__file__)}:{name}()"
    for port, *to in (["p.py", "--to", "torch"], ["p.onnx"], ["p.keras"]):
        convoy("port", source, *said, *to, "-o", tmp_path / port, "--interface", "source")
    ported, session = import_file(tmp_path / "p.py").load(), plain_session(tmp_path / "p.onnx")
    model = keras.saving.load_model(tmp_path / "p.keras")
    several = lambda y: y if isinstance(y, (tuple, list)) else (y,)
    for batch, length in free_source.SIZES.get(name, SIZES):
        inputs = drawn(shapes, batch, length)
        arrays = [x.numpy() for x in inputs]
        with torch.no_grad():
            want = [y.numpy() for y in several(net(*inputs))]
            answers = {"torch": [y.numpy() for y in several(ported(*inputs))]}
        answers["onnx"] = session.run(None, dict(zip((one.name for one in session.get_inputs()), arrays)))
        answers["keras"] = [np.asarray(y) for y in several(model(arrays if len(arrays) > 1 else arrays[0]))]
        for target, got in answers.items():
            for one, right in zip(got, want, strict=True):
                np.testing.assert_allclose(one, right, rtol=1e-5, atol=2e-5, err_msg=f"{target} at {batch}, {length}")


# What an export writes down of these has no form that is read yet.
NOT_READ = {}


@pytest.mark.parametrize("name", free_source.CASES)
def test_exported_sizes_that_are_free(name, tmp_path):
    shapes = free_source.CASES[name]
    torch.manual_seed(3)
    net = getattr(free_source, name)().eval()
    sizes = free_source.SIZES.get(name, [(2, 5), (3, 9), (5, 3)])
    example = tuple(drawn(shapes, 3, max(8, sizes[0][1]) if name in free_source.SIZES else 6))
    free = [{axis: torch.export.Dim.AUTO for axis, size in enumerate(said.split("=")[-1].split(":")[0].split(",")) if size == "?"}
            for said in shapes]
    program = torch.export.export(net, example, dynamic_shapes=tuple(free))
    torch.export.save(program, tmp_path / "net.pt2")
    names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    answer = convoy("port", tmp_path / "net.pt2", "-o", tmp_path / "p.onnx", "--interface", "source", code=None)
    if name in NOT_READ:
        assert answer.returncode == 6, "it is read by now"
        return
    assert answer.returncode == 0, answer.stderr
    session = plain_session(tmp_path / "p.onnx")
    several = lambda y: y if isinstance(y, (tuple, list)) else (y,)
    for batch, length in sizes:
        inputs = drawn(shapes, batch, length)
        try:
            want = [y.detach().numpy() for y in several(program.module()(*inputs))]
        except (AssertionError, RuntimeError):  # sizes that the export has not taken for free
            continue
        arrays = [x.numpy() for x in inputs]
        for got in (run_natively([tmp_path / "net.pt2"], dict(zip(names, arrays)), tmp_path), session.run(None, dict(zip(names, arrays)))):
            for one, right in zip(got, want, strict=True):
                np.testing.assert_allclose(one, right, rtol=1e-5, atol=2e-5)


def test_a_cut_that_comes_around_is_told(tmp_path):
    """x[:, :-1] of two cells is not empty, which no cut by one number says."""
    (tmp_path / "net.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
        "        return x[:, :x.shape[1] - 3]\n"
    )
    net = f"{tmp_path / 'net.py'}:Net"
    done = convoy("port", net, "--shape", "?,?", "-o", tmp_path / "m.onnx")
    assert "takes sizes where x.shape[1] >= 3" in done.stdout
    x = torch.arange(10.0).reshape(2, 5)
    np.testing.assert_array_equal(plain_session(tmp_path / "m.onnx").run(None, {"x": x.numpy()})[0], x[:, :2])
    np.save(tmp_path / "x.npy", x.numpy()[:, :2])
    convoy("run", net, "--shape", "?,?", "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "y.npz", code=2)
