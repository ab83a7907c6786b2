"""torch.cond in exported programs: one branch where the condition is known, else both and a choice, as PyTorch answers."""
import numpy as np
import pytest
import torch
from carrying import convoy, import_file, plain_session


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)


class BySum(Branches):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), lambda x: self.b(x) * 2, (x,))


class BySize(Branches):
    def forward(self, x):
        return torch.cond(x.shape[0] > 3, lambda x: self.a(x), lambda x: self.b(x) * 2, (x,))


class Several(Branches):
    def forward(self, x):
        def near(x):
            return torch.cond(x.mean() > 0.25, lambda x: x + 1, lambda x: x.sin(), (x,)), x.sum(1)

        y, s = torch.cond(x.abs().max() < 2, near, lambda x: (x - 3, x.amax(1)), (x,))
        return self.a(y), s


def exported(model, folder, least=2):
    torch.manual_seed(5)
    net = model().eval()
    sizes = ({0: torch.export.Dim("n", min=least, max=64)},)
    torch.export.save(torch.export.export(net, (torch.randn(4, 3),), dynamic_shapes=sizes), folder / "m.pt2")
    return net


@pytest.mark.parametrize("model", [BySum, BySize, Several])
def test_branches_are_chosen_as_in_pytorch(model, tmp_path):
    import keras

    net = exported(model, tmp_path)
    for target in ("p.py", "p.onnx", "p.keras"):
        convoy("port", tmp_path / "m.pt2", "-o", tmp_path / target, "--interface", "source")
    session, again = plain_session(tmp_path / "p.onnx"), import_file(tmp_path / "p.py").load()
    in_keras = keras.saving.load_model(tmp_path / "p.keras")
    for n, shift in [(2, 0.6), (3, -0.6), (4, 0.0), (7, 0.3), (5, 4.0)]:
        x = torch.randn(n, 3) * 0.5 + shift
        with torch.no_grad():
            want, ours = net(x), again(x)
        listed = [*want] if isinstance(want, tuple) else [want]
        for got in (ours, session.run(None, {session.get_inputs()[0].name: x.numpy()}), in_keras(x.numpy())):
            got = got if isinstance(got, (tuple, list)) else [got]
            for one, right in zip(got, listed, strict=True):
                np.testing.assert_allclose(np.asarray(one), right.numpy(), atol=2e-5)


def test_a_given_size_takes_its_branch_alone(tmp_path):
    net = exported(BySize, tmp_path)
    for n in (3, 4):
        said = convoy("port", tmp_path / "m.pt2", "-o", tmp_path / f"p{n}.py", "--shape", f"{n},3")
        assert "both branches" not in said.stdout + said.stderr
        assert "where" not in (tmp_path / f"p{n}.py").read_text()
        x = torch.randn(n, 3)
        with torch.no_grad():
            np.testing.assert_allclose(import_file(tmp_path / f"p{n}.py").load()(x).numpy(), net(x).numpy(), atol=2e-5)
