"""Element types of inputs that neither source nor a script declares: whole numbers as they are handed in, or as --shape says."""
import numpy as np
import pytest
from carrying import convoy, import_file, plain_session, run_natively

CALLS = {
    "product": "i * 123456789012345 + x.type_as(i)",
    "like": "torch.full_like(i, 2.7) * i - x.to(i)",
    "halved": "i // 2 + x.type_as(i)",
    "remainder": "i % 3 - x.type_as(i)",
    "as_its_type": "x.to(i.dtype) * 2 + torch.ones_like(i) - i",
}
SOURCE = """import torch


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor):
        return {call}
"""


@pytest.mark.parametrize("kind", ["source", "scripted"])
@pytest.mark.parametrize("name", CALLS)
def test_whole_numbers(name, kind, tmp_path):
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(call=CALLS[name]))
    net = import_file(file).Net()
    x, i = np.float32([[0.66, -2.5, 3.1]]), np.int64([[3, -7, 5]])
    wanted = net(torch.from_numpy(x), torch.from_numpy(i)).numpy()
    model = [f"{file}:Net"] if kind == "source" else [tmp_path / "net.ts"]
    if kind == "scripted":
        torch.jit.save(torch.jit.script(net), str(model[0]))
    answer, = run_natively([*model, "--shape", "x=1,3", "--shape", "i=1,3"], {"x": x, "i": i}, tmp_path)
    assert answer.dtype == wanted.dtype
    np.testing.assert_array_equal(answer, wanted)
    types = ["--shape", "x=1,3", "--shape", "i=1,3:int64"]
    convoy("port", *model, *types, "-o", tmp_path / "port.onnx")
    session = plain_session(tmp_path / "port.onnx")
    taken = {one.name: {"x": x, "i": i}[one.name] for one in session.get_inputs()}
    answer, = session.run(None, taken)
    assert answer.dtype == wanted.dtype
    np.testing.assert_array_equal(answer, wanted)
    convoy("port", *model, *types, "-o", tmp_path / "port.py")
    answer = import_file(tmp_path / "port.py").load()(*map(torch.from_numpy, taken.values())).numpy()
    assert answer.dtype == wanted.dtype
    np.testing.assert_array_equal(answer, wanted)
