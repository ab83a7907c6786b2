"""What is written into one view of a tensor is seen in the others: every way to look at a tensor, changed in place or the tensor
under it changed, from exported programs, traces, scripts and source, against PyTorch itself. A refusal will do; another answer not."""
import importlib.util

import numpy as np
import pytest
from carrying import convoy, run_natively

X = (2, 4, 5, 6)

# views of y [2, 4, 5, 6]
VIEWS = {
    "diagonal": "y.diagonal(dim1=2, dim2=3)",
    "movedim": "y.movedim(1, 3)",
    "moveaxis": "torch.moveaxis(y, 1, 3)",
    "swapaxes": "y.swapaxes(1, 2)",
    "swapdims": "torch.swapdims(y, 2, 3)",
    "transpose": "y.transpose(1, 3)",
    "permute": "y.permute(0, 2, 3, 1)",
    "mT": "y.mT",
    "adjoint": "y.adjoint()",
    "unfold": "y.unfold(3, 2, 2)",
    "view": "y.view(2, 20, 6)",
    "reshape": "y.reshape(2, -1)",
    "reshape_as": "y.reshape_as(y)",
    "view_as": "y.view_as(y)",
    "flatten": "torch.flatten(y, 2)",
    "unflatten": "y.unflatten(1, (2, 2))",
    "ravel": "y.ravel()",
    "squeeze": "y[:1].squeeze(0)",
    "unsqueeze": "y.unsqueeze(1)",
    "select": "y.select(1, 2)",
    "narrow": "torch.narrow(y, 2, 1, 3)",
    "slice": "y[:, 1:3]",
    "step": "y[:, :, ::2]",
    "number": "y[:, 1]",
    "none": "y[:, None]",
    "ellipsis": "y[..., 1:]",
    "chunk": "y.chunk(2, 1)[1]",
    "split": "y.split(2, 1)[0]",
    "split_sizes": "torch.split(y, [1, 3], 1)[1]",
    "tensor_split": "torch.tensor_split(y, 3, 2)[1]",
    "hsplit": "torch.hsplit(y, 2)[1]",
    "unbind": "y.unbind(1)[2]",
    "expand_as": "y[:, :1].expand_as(y)[:, 2]",
    "detach": "y.detach()",
    "data": "y.data",
    "contiguous": "y.contiguous()",
    "channels_last": "y.contiguous(memory_format=torch.channels_last)",
    "to_channels_last": "y.to(memory_format=torch.channels_last)",
    "to_copied": "y.to(torch.float32, copy=True)",
    "to_copied_fractions": "(y / 4).to(torch.float32, copy=True)",
    "squeeze_of_many": "y.squeeze(1)",
    "broadcast_to": "y.broadcast_to((2, 4, 5, 6))",
    "rot90": "y.rot90(0)",
    "positive": "torch.positive(y)",
    "to_same": "y.to(torch.float32)",
    "float": "y.float()",
    "type_as": "y.type_as(y)",
    "dropout": "F.dropout(y, 0.5, self.training)",
    "identity": "nn.Identity()(y)",
    "atleast": "torch.atleast_2d(y)",
    "real": "torch.real(y)",
    "clone": "y.clone()",
    "piece_of_piece": "y.chunk(2, 1)[1].chunk(2, 2)[0]",
    "doubled": "y.transpose(1, 2).diagonal(dim1=1, dim2=2)",
}
# how it is written into, and what is looked at
WRITES = {
    "add": "z = {view}; z.add_(10.0); return y * 1.0",
    "mul": "z = {view}; z *= 3.0; return y + 0.0",
    "fill": "z = {view}; z[:, 0] = 7.0; return y * 1.0",
    "under": "z = {view}; y.add_(5.0); return z * 1.0",
}
# pieces that a tensor is taken apart into: what is written into one is not seen in another
PIECES = {
    "chunk": "p, q = y.chunk(2, 1)",
    "split": "q, p = y.split(2, 1)",
    "split_sizes": "p, q = torch.split(y, [1, 3], 1)",
    "unbind": "_, p, q, _ = y.unbind(1)",
    "of_a_piece": "p, q = y.chunk(2, 1)[0].chunk(2, 1)",
}
# a number takes the type of the tensor into which it is written
TYPED = {
    "truths": "m = y > 30; m[:, 0] = True; return m",
    "truths_counted": "m = y > 30; m[:, 0] = True; return m.sum(1)",
    "truths_added": "m = y > 30; m[:, 0] = True; return (m + m).float()",
    "truth_of_a_number": "m = y > 30; m[:, 0] = 5; return m.float()",
    "truth_of_a_fraction": "m = y > 30; m[:, :, 1] = 0.5; return m * 3",
    "truths_turned": "m = y > 30; m[:, 0] = True; return ~m",
    "truths_joined": "m = y > 30; m[:, 0] = True; m |= y < 5; return m & (y < 90)",
    "truths_filled": "m = y > 30; m.fill_(True); return m & (y > 2)",
    "truths_by_mask": "m = y > 30; m[y > 90] = False; return m",
    "truths_by_list": "m = y > 30; m[:, [0, 2]] = True; return m",
    "int64": "i = y.long(); i[:, 0] = 1; return i",
    "int64_of_a_fraction": "i = y.long(); i[:, 0] = 2.7; return x * i",
    "int64_by_mask": "i = y.long(); i[y > 90] = -2.7; return i",
    "int64_beyond_float32": "i = y.long(); i[:, 0] = 16777217; return i - 16777216",
    "int32_filled": "i = y.int(); i.fill_(3); return i + y.int()",
    "int8_wraps": "i = (y / 4).to(torch.int8); i[:, 1] = 100; i[:, 1] += 50; return i * 1.0",
    "uint8_wraps": "u = (y / 4).to(torch.uint8); u[:, 0] = 250; return (u + 10).float()",
    "uint8_from_below": "u = (y / 4).to(torch.uint8); u[:, 0] = -1; return u.float()",
    "float16": "h = (y / 4).half(); h[:, 0] = 1.0001; return h",
    "float64": "d = y.double(); d[:, 0] = 0.1; return d",
    "tensor_into_int64": "i = y.long(); i[:, 0] = x[:, 1] + 0.7; return i",
    "tensor_into_truths": "m = y > 30; m[:, 0] = x[:, 1]; return m",
    "known_truths": "m = torch.zeros(2, 4, 5, 6, dtype=torch.bool); m[:, 1] = True; return y.masked_fill(m, 0.0)",
    "known_truths_chosen": "m = torch.ones(5, 6, dtype=torch.bool); m[:, 0] = False; return torch.where(m, y, -y)",
    "known_truths_turned": "m = torch.zeros(5, 6, dtype=torch.bool); m[1:, 0] = True; return y.masked_fill(~m, -9.0)",
    "known_truths_times": "m = torch.zeros(4, dtype=torch.bool); m[2] = True; return y * m[None, :, None, None]",
    "known_int32": "i = torch.zeros(6, dtype=torch.int32); i[1:3] = 7; return y.int() + i",
    "known_int8_of_a_fraction": "i = torch.ones(6, dtype=torch.int8); i[::2] = -7.9; return y.int() * i",
    "known_like_truths": "m = torch.zeros_like(y, dtype=torch.bool); m[y > 30] = True; return m",
}
UNHELD = {
    "int8": "i = (y / 4).to(torch.int8); i[:, 0] = 300; return i",
    "int8_of_a_fraction": "i = (y / 4).to(torch.int8); i[:, 0] = 127.9; return i",
    "uint8": "i = (y / 4).to(torch.uint8); i[y > 9] = -256; return i",
    "int64": "i = y.long(); i.fill_(1e20); return i",
}
TEXT = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def forward(self, x):
        y = x * 2.0
        {line}
"""


def asked(forms: dict, x, folder, refused: list) -> list:
    """The forms whose answer is another one than that of what PyTorch wrote down; those that are refused are put into the list."""
    wrong = []
    for form, (words, wanted) in forms.items():
        said = convoy("port", *words, "--to", "onnx", "-o", folder / "p.onnx", "-f", "--no-proof", code=None)
        if said.returncode:
            assert said.returncode in (2, 6), (form, said.stderr)
            refused.append(form)
            continue
        got = run_natively(list(words), {"x": x.numpy()}, folder)
        if got[0].dtype != wanted.dtype or not np.array_equal(got[0], wanted):
            wrong.append(form)
    return wrong


def forms_of(line: str, tmp_path) -> tuple:
    """What PyTorch writes down of the lines, each with its own answer, and the input."""
    import torch

    source = TEXT.format(line=line)
    file = tmp_path / "net.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location("net", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.Net().eval()
    x = torch.arange(float(np.prod(X))).reshape(X)
    try:
        wanted = net(x.clone()).detach().numpy()
    except (RuntimeError, IndexError):  # PyTorch itself refuses
        pytest.skip("PyTorch does not write so")
    torch.save({}, tmp_path / "w.pth")
    forms = {"source": ((f"{file}:Net", "--weights", tmp_path / "w.pth", "--shape", ",".join(map(str, X))), wanted)}
    for form, written in {"pt2": lambda: torch.export.export(net, (x,)), "trace": lambda: torch.jit.trace(net, x, check_trace=False),
                          "script": lambda: torch.jit.script(net)}.items():
        there = tmp_path / f"{form}.{'pt2' if form == 'pt2' else 'pt'}"
        try:
            made = written()
            (torch.export if form == "pt2" else torch.jit).save(made, there)
        except Exception:  # what PyTorch does not write down
            continue
        own = made.module()(x.clone()) if form == "pt2" else made(x.clone())  # a trace does not see y.data
        forms[form] = ((there,), own.detach().numpy())
    return forms, x


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_in_place(view, write, tmp_path):
    forms, x = forms_of(WRITES[write].format(view=VIEWS[view]), tmp_path)
    assert asked(forms, x, tmp_path, []) == []


@pytest.mark.parametrize("pieces", PIECES)
def test_pieces_in_place(pieces, tmp_path):
    """As the steps of a traced LSTMCell are: activations in place of each piece of one product."""
    forms, x = forms_of(f"{PIECES[pieces]}; p.mul_(3.0); q.add_(10.0); return torch.cat([p.flatten(), q.flatten()])", tmp_path)
    refused = []
    assert asked(forms, x, tmp_path, refused) == []
    assert not {"source", "trace"} & set(refused)


@pytest.mark.parametrize("line", TYPED)
def test_types_in_place(line, tmp_path):
    forms, x = forms_of(TYPED[line], tmp_path)
    refused = []
    assert asked(forms, x, tmp_path, refused) == []
    assert "source" not in refused


@pytest.mark.parametrize("line", UNHELD)
def test_numbers_that_a_type_does_not_hold(line, tmp_path):
    file = tmp_path / "net.py"
    file.write_text(TEXT.format(line=UNHELD[line]))
    answer = convoy("summary", f"{file}:Net", "--shape", "2,4,5,6", code=5)
    assert "which does not hold it" in answer.stderr
