"""Packed sequences of PyTorch source: the ports, run by each framework, give PyTorch's numbers at every length."""
import numpy as np
import pytest
from carrying import assert_close, convoy, import_file, plain_session

torch = pytest.importorskip("torch")

PROGRAM = """import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Last(nn.Module):
    def __init__(self, cell="LSTM", both=False, layers=1, first=True):
        super().__init__()
        self.embed = nn.Embedding(12, 5)
        self.walk = getattr(nn, cell)(5, 6, num_layers=layers, bidirectional=both, batch_first=first)
        self.first = first
        self.answer = nn.Linear(12 if both else 6, 3)

    def forward(self, ids, lengths):
        x = self.embed(ids)
        x = x if self.first else x.transpose(0, 1)
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=self.first, enforce_sorted=False)
        out, h = self.walk(packed)
        h = h[0] if isinstance(h, tuple) else h
        return self.answer(torch.cat([h[-2], h[-1]], 1) if self.walk.bidirectional else h[-1])


class Steps(Last):
    def forward(self, ids, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.walk(packed)
        out, back = pad_packed_sequence(out, batch_first=True, total_length=ids.shape[1])
        return self.answer(out.sum(1) / back.unsqueeze(1))


class Cell(Last):
    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        return self.answer(self.walk(packed)[1][1][-1])


class Short(Last):
    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        return self.answer(pad_packed_sequence(self.walk(packed)[0], batch_first=True)[0])
"""
CALLS = [("Last()", "?"), ('Last("GRU")', "7"), ('Last("LSTM", True)', "?"), ('Last("GRU", True, 2)', "?"),
         ('Last("RNN", False, 2, False)', "7"), ("Steps()", "7"), ('Steps("GRU", True)', "7"), ('Steps("LSTM", True, 2)', "7")]  # fmt: skip


def ported(folder, call, steps, target, *words, code=0):
    shapes = ["--shape", f"ids=?,{steps}:int64", "--shape", "lengths=?:int64"]
    return convoy("port", f"{folder / 'net.py'}:{call}", *shapes, "-o", folder / target, *words, code=code)


@pytest.mark.parametrize(("call", "steps"), CALLS)
def test_packed_sequences_give_the_numbers_of_pytorch(call, steps, tmp_path):
    import keras
    from safetensors.torch import save_file

    (tmp_path / "net.py").write_text(PROGRAM)
    torch.manual_seed(1)
    net = eval(call, vars(import_file(tmp_path / "net.py"))).eval()  # noqa: S307  written above
    save_file(net.state_dict(), tmp_path / "net.safetensors")
    weights = ["--weights", tmp_path / "net.safetensors"]
    for target, words in (("net.onnx", []), ("net.keras", []), ("again.py", ["--to", "torch"])):
        ported(tmp_path, call, steps, target, *weights, *words)
    session, in_keras = plain_session(tmp_path / "net.onnx"), keras.saving.load_model(tmp_path / "net.keras")
    again = import_file(tmp_path / "again.py").load()
    for lengths in ([7, 4, 1], [2, 7], [7], [1, 1, 7, 6]):
        ids, lengths = torch.randint(0, 12, (len(lengths), 7)), torch.tensor(lengths)
        with torch.no_grad():
            want = [net(ids, lengths).numpy()]
            assert_close([again(ids, lengths).numpy()], want, 2e-5, "torch")
        feeds = dict(zip([one.name for one in session.get_inputs()], [ids.numpy(), lengths.numpy()], strict=True))
        assert_close(session.run(None, feeds), want, 2e-5, "onnx")
        assert_close([np.asarray(in_keras([ids.numpy(), lengths.numpy()]))], want, 2e-5, "keras")


@pytest.mark.parametrize(("call", "words"), [("Cell()", "CellOfPackedSequence"), ("Short()", "total_length=")])
def test_what_is_not_known_of_packed_sequences_is_refused(call, words, tmp_path):
    (tmp_path / "net.py").write_text(PROGRAM)
    assert words in ported(tmp_path, call, "7", "net.onnx", code=6).stderr


def test_tensors_like_one_of_a_free_size(tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n"
        "        more = torch.full_like(x[:, :1], 2.0) + torch.zeros_like(x[:, :1])\n"
        "        return x + torch.ones_like(x).cumsum(1) * more + torch.ones_like(x, dtype=torch.int64).cumsum(1)\n")  # fmt: skip
    x = torch.randn(3, 4, 5)
    want = [import_file(tmp_path / "net.py").Net()(x).numpy()]
    for shape in ("?,4,5", "?,?,5"):
        convoy("port", f"{tmp_path / 'net.py'}:Net", "--shape", shape, "-o", tmp_path / "net.onnx", "-f")
        assert_close(plain_session(tmp_path / "net.onnx").run(None, {"x": x.numpy()}), want, 1e-6, "onnx")


def test_axes_expanded_to_free_sizes(tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.start = nn.Parameter(torch.arange(5.))\n    def forward(self, x):\n"
        "        first = self.start.expand(x.shape[0], 1, -1)\n        all = x[:, :1].expand(-1, x.size(1), 5)\n"
        "        return torch.cat([first, x + all.expand(x.shape[0], x.shape[1], 5)], 1)\n")  # fmt: skip
    x = torch.randn(3, 4, 5)
    want = [import_file(tmp_path / "net.py").Net()(x).detach().numpy()]
    convoy("port", f"{tmp_path / 'net.py'}:Net", "--shape", "?,?,5", "-o", tmp_path / "net.onnx")
    assert_close(plain_session(tmp_path / "net.onnx").run(None, {"x": x.numpy()}), want, 1e-6, "onnx")


def test_a_port_of_any_length_is_read_again_as_source(tmp_path):
    import keras

    ids = keras.Input((None,), dtype="int32")
    y = keras.layers.LSTM(3)(keras.layers.Embedding(6, 4, mask_zero=True)(ids))
    keras.Model(ids, y).save(tmp_path / "m.keras")
    convoy("port", tmp_path / "m.keras", "--to", "torch", "-o", tmp_path / "m.py")
    convoy("diff", tmp_path / "m.keras", tmp_path / "m.py", "-q")
