"""PyTorch programs as people paste them (pasted_torch*.py): bound to the weights that PyTorch saved they answer as PyTorch does,
here, as the PyTorch module that is written for them, and in ONNX Runtime."""
import numpy as np
import pytest
from carrying import assert_close, convoy, port, run_natively
from pasted_torch import NOT_CARRIED, PROGRAMS
from pasted_torch_2 import PROGRAMS as MORE

TOLERANCE = 2e-5
ALL = PROGRAMS | MORE


def tensors(answer) -> list:
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (tuple, list)):
        return [t for one in answer for t in tensors(one)]
    return [] if answer is None else [answer.numpy()]


@pytest.mark.parametrize("name", sorted(ALL))
def test_pasted_pytorch(name, tmp_path):
    torch = pytest.importorskip("torch")
    shapes, text = ALL[name]
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "__name__": "snippet"}
    torch.manual_seed(3)
    exec(text, scope)
    bound = [v for v in scope.values() if isinstance(v, torch.nn.Module)]
    net = (bound[-1] if bound else scope["Net"]()).eval()
    for module in net.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.uniform_(-0.5, 0.5)
            module.running_var.uniform_(0.5, 1.5)
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    inputs = {word: torch.randn(*shape) for word, shape in shapes.items()}
    with torch.no_grad():
        want = tensors(net(*[x.clone() for x in inputs.values()]))
    arrays = {word: x.numpy() for word, x in inputs.items()}
    (tmp_path / "pasted.py").write_text(text)
    source = [tmp_path / "pasted.py", "--weights", tmp_path / "weights.pt"]
    assert_close(run_natively(source, arrays, tmp_path), want, TOLERANCE, name)
    shape = [w for k, x in arrays.items() for w in ("--shape", f"{k}={','.join(map(str, x.shape))}")]
    refused = NOT_CARRIED.get(name, {})
    if "torch" not in refused:
        assert_close(port([*source, *shape], tmp_path / "ported.py")(list(arrays.values())), want, TOLERANCE, name)
    for target, words in refused.items():
        done = convoy("port", *source, *shape, "--to", target, "-o", tmp_path / f"refused.{target}", code=6)
        assert words in done.stderr, done.stderr
    if "onnx" in refused:
        return
    onnxruntime = pytest.importorskip("onnxruntime")
    convoy("port", *source, *shape, "-o", tmp_path / "ported.onnx", "--no-proof")
    session = onnxruntime.InferenceSession(str(tmp_path / "ported.onnx"), providers=["CPUExecutionProvider"])
    feeds = {known.name: x for known, x in zip(session.get_inputs(), arrays.values(), strict=True)}
    assert_close([np.asarray(y) for y in session.run(None, feeds)], want, TOLERANCE, name)
