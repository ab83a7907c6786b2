"""Programs without weights: their weights are taken to be the other's, the numbers that they say themselves are not."""
import pytest
from carrying import convoy

PROGRAM = """import torch
import torch.nn.functional as F
from torch import nn

SOBEL = [[[[1., 0., -1.], [2., 0., -2.], [1., 0., -1.]]]]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.scale = nn.Parameter(torch.ones(4))
        self.frozen = nn.Linear(4, 2)
        for one in self.frozen.parameters():
            one.requires_grad = False

    def forward(self, x):
        return self.frozen(self.linear({}) * self.scale)
"""
SAME = ["x", "x * torch.tensor([1., 2., 3.])", "torch.where(x > 1, x, 3.)"]
PAIRS = [("torch.where(x > 0, x, 3.)", "torch.where(x > 1, x, 3.)"), ("torch.where(x > 0, x, 3.)", "torch.where(x > 0, x, 2.)"),
         ("x * torch.tensor([1., 2., 3.])", "x * torch.tensor([3., 2., 1.])"), ("x ** 3", "x ** 2"), ("x / 2", "x / 4"),
         ("torch.round(x, decimals=2)", "torch.round(x, decimals=3)"), ("torch.remainder(x, 3)", "torch.remainder(x, 2)"),
         ("F.conv2d(x[None, None], torch.tensor(SOBEL), padding=1)[0, 0]",
          "F.conv2d(x[None, None], torch.tensor(SOBEL).transpose(2, 3), padding=1)[0, 0]"),
         ("torch.maximum(x, torch.tensor(0.5))", "torch.maximum(x, torch.tensor(0.25))")]  # fmt: skip


def verdict(folder, a, b):
    for name, expression in (("a", a), ("b", b)):
        (folder / f"{name}.py").write_text(PROGRAM.format(expression))
    return convoy("diff", folder / "a.py", folder / "b.py", "--shape", "4,3", "-q", code=None).returncode


@pytest.mark.parametrize("expression", SAME)
def test_weights_are_the_others(expression, tmp_path):
    assert verdict(tmp_path, expression, expression) == 0


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_numbers_of_the_program_are_its_own(a, b, tmp_path):
    assert verdict(tmp_path, a, b) == 1
    assert verdict(tmp_path, b, a) == 1


MASKS = ["layers.Masking(0.0)(x)", "layers.Masking(-1.0)(x)"]


def test_what_masks_a_step_is_the_programs_own(tmp_path):
    for name, masked in zip("ab", MASKS, strict=True):
        (tmp_path / f"{name}.py").write_text("import keras\nfrom keras import layers\nx = keras.Input((5, 3))\n"
                                             f"model = keras.Model(x, layers.LSTM(4)({masked}))\n")  # fmt: skip
    assert convoy("diff", tmp_path / "a.py", tmp_path / "a.py", "-q", code=None).returncode == 0
    assert convoy("diff", tmp_path / "a.py", tmp_path / "b.py", "-q", code=None).returncode == 1


def test_a_number_that_is_asked_for_stays_inside_the_table(tmp_path):
    (tmp_path / "net.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.table = nn.Embedding(5, 3)\n    def forward(self, x):\n"
        "        return self.table(x) * (x != 77).unsqueeze(2).float()\n")  # fmt: skip
    convoy("port", f"{tmp_path / 'net.py'}:Net", "--shape", "2,4:int64", "-o", tmp_path / "net.onnx")
