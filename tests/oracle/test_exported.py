"""Every exported program of the PyTorch corpus: answered by convoy's runtime as PyTorch did at every stored size, and
carried to PyTorch source and to ONNX, which answer the same in PyTorch and in ONNX Runtime."""
import json

import numpy as np
import pytest
import torch
from carrying import assert_close, cases_in, convoy, port, run_natively
from test_onnx_written import crossings_of, session

CORPUS = cases_in("corpus/torch")
TOLERANCE = 2e-5


def programs() -> list[tuple[str, str]]:
    return [] if CORPUS is None else sorted((f.parent.name, f.name) for f in CORPUS.glob("*/model*.pt2"))


pytestmark = pytest.mark.skipif(CORPUS is None, reason="no corpus beside the project")


def stored(name: str):
    """Each stored set of a case: its inputs by name and its outputs."""
    case = json.loads((CORPUS / name / "case.json").read_text())
    for row in case["sets"]:
        inputs = {x["name"]: np.load(CORPUS / name / f"input{row}_{i}.npy") for i, x in enumerate(case["inputs"])}
        yield inputs, [np.load(CORPUS / name / f"output{row}_{i}.npy") for i in range(len(case["outputs"]))]


@pytest.mark.sampled(60)
@pytest.mark.parametrize("name, program", programs())
def test_natively(name, program, tmp_path):
    for inputs, want in stored(name):
        assert_close(run_natively([CORPUS / name / program], inputs, tmp_path), want, TOLERANCE, f"{name}/{program}")


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", sorted({name for name, program in programs()}))
def test_to_torch(name, tmp_path):
    done = convoy("port", CORPUS / name / "model.pt2", "-o", tmp_path / "net.py", code=None)
    if done.returncode == 6:
        pytest.skip(done.stderr.strip())
    ported = port([CORPUS / name / "model.pt2"], tmp_path / "net.py")
    for inputs, want in stored(name):
        assert_close(ported(list(inputs.values())), want, TOLERANCE, name)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", sorted({name for name, program in programs()}))
def test_to_onnx(name, tmp_path):
    import onnx

    path = tmp_path / "net.onnx"
    done = convoy("port", CORPUS / name / "model.pt2", "-o", path, "--no-proof", "--json", code=None)
    if done.returncode == 6:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(path), full_check=True)
    sides = crossings_of(json.loads(done.stdout))
    for optimized in (False, True):
        runtime = session(path, optimized)
        for inputs, want in stored(name):
            feed = {c.name: c.to_port(x) for c, x in zip(sides["inputs"], inputs.values(), strict=True)}
            got = [c.from_port(y) for c, y in zip(sides["outputs"], runtime.run(None, feed), strict=True)]
            assert_close(got, want, 2e-4, f"{name}, {'optimized' if optimized else 'as written'}")


def test_flattened_in_front_of_free_axes(tmp_path):
    """Frames of films of any size, gathered in the batch."""

    class Films(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

        def forward(self, x):
            return self.conv(x.flatten(0, 1)).mean((2, 3)).view(x.shape[0], 5, 4)

    model, auto = Films().eval(), torch.export.Dim.AUTO
    program = torch.export.export(model, (torch.randn(2, 5, 3, 8, 9),), dynamic_shapes=[{0: auto, 3: auto, 4: auto}])
    torch.export.save(program, tmp_path / "m.pt2")
    made = port([tmp_path / "m.pt2"], tmp_path / "net.py", "--interface", "source")
    for shape in ((2, 5, 3, 8, 9), (3, 5, 3, 7, 12), (1, 5, 3, 5, 4)):
        x = torch.randn(shape)
        with torch.no_grad():
            assert_close(made([x.numpy()]), [model(x).numpy()])


def test_sizes_that_the_program_was_not_exported_for_are_refused(tmp_path):
    class Branches(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[0] > 4 else x * 3

    sizes = {"least": torch.export.Dim.AUTO, "most": torch.export.Dim("most", max=4)}
    for name, example in (("least", torch.ones(6, 3)), ("most", torch.ones(3, 3))):
        program = torch.export.export(Branches(), (example,), dynamic_shapes=[{0: sizes[name]}])
        torch.export.save(program, tmp_path / f"{name}.pt2")
        convoy("port", tmp_path / f"{name}.pt2", "-o", tmp_path / f"{name}.onnx")  # proved at sizes that it takes
        for batch in (2, 4, 5, 7):
            x = np.ones((batch, 3), np.float32)
            np.save(tmp_path / "x.npy", x)
            taken = (batch > 4) == (name == "least")
            run = convoy("run", tmp_path / f"{name}.pt2", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "-f",
                         code=0 if taken else 2)  # fmt: skip
            if taken:
                assert np.array_equal(np.load(tmp_path / "y.npy"), Branches()(torch.from_numpy(x)).numpy())
            else:
                assert f"x.shape[0] {'>= 5' if name == 'least' else '<= 4'}" in run.stderr
