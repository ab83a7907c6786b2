"""Truths as indices of PyTorch tensors, read and written, along every axis: from exported programs, traces and source, against PyTorch
itself; bytes are masks too."""
import warnings

import numpy as np
import pytest
from carrying import assert_close, convoy, run_natively

X = (4, 3, 5, 6)  # unlike sizes, so that a mask fits one axis alone
ROWS, CHANNELS, HEIGHTS, WIDTHS = [1, 0, 0, 1], [1, 0, 1], [0, 1, 1, 0, 1], [1, 1, 0, 1, 0, 0]

# name -> the line that makes y of x, and the masks it reads
CASES = {
    "read_channels": ("x[:, c]", {"c": CHANNELS}),
    "read_widths": ("x[..., w]", {"w": WIDTHS}),
    "read_rows": ("x[r]", {"r": ROWS}),
    "read_all": ("x[:, c]", {"c": [1, 1, 1]}),
    "read_none": ("torch.cat([x, x[:, c]], 1)", {"c": [0, 0, 0]}),
    "read_two": ("x[:, c][:, :, h]", {"c": CHANNELS, "h": HEIGHTS}),
    "read_beside_a_list": ("x[:, c, [4, 0]]", {"c": CHANNELS}),
    "write_channels": ("put(x, (slice(None), c), 0.5)", {"c": CHANNELS}),
    "write_heights": ("put(x, (slice(None), slice(None), h), -2.0)", {"h": HEIGHTS}),
    "write_widths": ("put(x, (Ellipsis, w), 0.25)", {"w": WIDTHS}),
    "write_rows": ("put(x, (r,), 7.0)", {"r": ROWS}),
    "write_image": ("put(x, (slice(None), slice(None), h[:, None] & w[None]), 0.0)", {"h": HEIGHTS, "w": WIDTHS}),
}
TEXT = """
import torch
from torch import nn

def put(x, where, number):
    y = x.clone()
    y[where] = number
    return y

class Net(nn.Module):
    def __init__(self, dtype=torch.bool):
        super().__init__()
        {buffers}

    def forward(self, x):
        {names}
        return {line}
"""


def program(name: str, dtype: str, folder) -> tuple:
    """The file and an instance of its class."""
    line, masks = CASES[name]
    buffers = "\n        ".join(f"self.register_buffer('{word}', torch.tensor({truths}, dtype=dtype))" for word, truths in masks.items())
    names = "; ".join(f"{word} = self.{word}" for word in masks)
    file = folder / "net.py"
    file.write_text(TEXT.format(buffers=buffers, names=names, line=line).replace("dtype=torch.bool", f"dtype=torch.{dtype}"))
    scope: dict = {}
    exec(file.read_text(), scope)
    return file, scope["Net"]()


@pytest.mark.parametrize("dtype", ["bool", "uint8"])
@pytest.mark.parametrize("form", ["pt2", "trace", "source"])
@pytest.mark.parametrize("name", CASES)
def test_masks_as_indices(name, form, dtype, tmp_path):
    import torch

    warnings.filterwarnings("ignore", message="indexing with dtype torch.uint8")
    if dtype == "uint8" and name.startswith("write"):
        pytest.skip("PyTorch writes by truths alone")
    file, net = program(name, dtype, tmp_path)
    x = torch.arange(float(np.prod(X))).reshape(X) / 8 - 20
    wanted = net(x).detach().numpy()
    options = []
    if form == "pt2":
        if dtype == "uint8" and name.startswith("read"):
            pytest.skip("torch.export finds no size behind a mask of bytes")
        file = tmp_path / "net.pt2"
        try:
            torch.export.save(torch.export.export(net, (x,)), file)
        except Exception as error:  # data-dependent by its own words
            pytest.skip(f"torch.export: {type(error).__name__}")
    elif form == "trace":
        file = tmp_path / "net.pt"
        torch.jit.save(torch.jit.trace(net, x), file)
    else:
        torch.save(net.state_dict(), tmp_path / "w.pth")
        file, options = f"{file}:Net", ["--weights", tmp_path / "w.pth", "--shape", ",".join(map(str, X))]
    said = convoy("port", file, *options, "--to", "onnx", "-o", tmp_path / "p.onnx", "-f", code=None)
    if said.returncode:  # never another answer
        assert said.returncode in (2, 6), said.stderr
        assert form != "source" or name in ("write_channels", "write_heights", "write_widths", "write_rows", "write_image",
                                            "read_none"), said.stderr
        return
    got = run_natively([file, *options], {"x": x.numpy()}, tmp_path)
    assert_close(got[0], wanted)
    import onnxruntime

    session = onnxruntime.InferenceSession(tmp_path / "p.onnx")
    assert_close(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0], wanted)


@pytest.mark.parametrize("index, wanted", [("[True, False, True]", (4, 2, 5, 6)), ("torch.tensor([True, True, True])", X),
                                           ("torch.tensor([1, 0, 1])", X), ("torch.tensor([True, 2, 1])", X)])
def test_truths_that_stand_in_source(index, wanted, tmp_path):
    import torch

    line = f"x[:, {index}]"
    (tmp_path / "net.py").write_text(f"import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return {line}\n")
    x = torch.arange(float(np.prod(X))).reshape(X)
    truth = eval(line)  # the line itself, in PyTorch
    got = run_natively([f"{tmp_path / 'net.py'}:Net"], {"x": x.numpy()}, tmp_path)[0]
    assert got.shape == tuple(truth.shape) == wanted
    assert_close(got, truth.numpy())


def test_an_empty_part_is_filled(tmp_path):
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            y = x.clone()
            y[:, :, 0:0].fill_(3.0)
            y[:, 1:].fill_(2.0)
            return y

    x = torch.arange(24.0).reshape(2, 3, 4)
    torch.export.save(torch.export.export(Net(), (x,)), tmp_path / "net.pt2")
    assert_close(run_natively([tmp_path / "net.pt2"], {"x": x.numpy()}, tmp_path)[0], Net()(x).numpy())
