"""Calls of PyTorch whose arguments are easily misread: negative places, sizes of another tensor that are free, weights that are
tensors, whole numbers and truths where others take fractions; exported, run and carried to ONNX, against PyTorch itself."""
import numpy as np
import pytest
from carrying import convoy, plain_session

F4 = ((2, 3, 5, 6), "float32")
# name -> the line, its inputs, and whether every axis behind the channels is free
CALLS = {
    "fill_from_the_end": ("x.index_fill(1, torch.tensor([0, -1]), 2.5)", [F4], False),
    "fill_last_column": ("x.index_fill(3, torch.tensor([-1]), 7.0)", [F4], False),
    "fill_by_tensor": ("x.index_fill(2, torch.tensor([-2, 1]), torch.tensor(3.0))", [F4], False),
    "put_from_the_end": ("put(x, (slice(None), [0, -1]), 2.5)", [F4], False),
    "put_last_row": ("put(x, ([-1],), 0.0)", [F4], False),
    "put_and_add": ("added(x, (slice(None), slice(None), [-1, 0]), 1.0)", [F4], False),
    "like_another": ("x.mean((2, 3), keepdim=True).expand_as(x).sum((2, 3))", [F4], True),
    "like_another_joined": ("torch.cat([x, x.amax((2, 3), keepdim=True).expand_as(x)], 1)", [F4], True),
    "like_another_pooled": ("F.avg_pool2d(x.amax(1, keepdim=True).expand_as(x), 2)", [F4], True),
    "lerp_by_tensor": ("torch.lerp(x, x * 3, torch.tensor(0.75))", [F4], False),
    "lerp_by_small": ("torch.lerp(x, x * 3, torch.tensor([0.25, -0.125, 0.0]).view(3, 1, 1))", [F4], False),
    "lerp_by_both": ("torch.lerp(x, x * 3, torch.tensor([0.25, 0.75, 0.5]).view(3, 1, 1))", [F4], False),
    "square_of_truths": ("x.square() + (x ** 2) * 2", [((2, 3), "bool")], False),
    "threshold_of_whole": ("F.threshold(x, 2, 9)", [((4, 5), "int32")], False),
    "compare_truths": ("torch.where(x > y, x, y)", [((4, 5), "bool"), ((4, 5), "bool")], False),
    "sign_of_truths": ("torch.sign(x) * y", [((4, 5), "bool"), ((4, 5), "bool")], False),
    "relu_of_int64": ("torch.relu(x)", [((4, 5), "int64")], False),
    **{f"{word}_of_{dtype}": (line, [((2, 3, 4, 4), dtype)] * 2, False)
       for dtype in ("int8", "int16", "int32", "uint8")
       for word, line in {"limits": "torch.relu(x) + F.relu6(y) + x.clamp(-3, 5) + torch.maximum(x, y)",
                          "pad": "F.pad(x, (1, 2), value=3)",
                          "choice": "torch.where(x > y, x, y).tril()",
                          "product": "torch.matmul(x, y.transpose(2, 3))",
                          "fill": "x.masked_fill(x > 3, 0) + y"}.items()},
    **{f"pool_of_{dtype}": ("F.max_pool2d(x, 2)", [((2, 3, 4, 6), dtype)], False) for dtype in ("int8", "int16", "int32", "uint8")},
}


def put(x, where, number):
    y = x.clone()
    y[where] = number
    return y


def added(x, where, number):
    y = x.clone()
    y[where] += number
    return y


@pytest.mark.parametrize("name", CALLS)
def test_torch_calls(name, tmp_path):
    import torch
    import torch.nn.functional as F

    line, given, free = CALLS[name]

    class Net(torch.nn.Module):
        def forward(self, x, y=None):
            return eval(line, {"torch": torch, "F": F, "x": x, "y": y, "put": put, "added": added})

    def numbers(seed, grow=0):
        random = np.random.default_rng(seed)
        low, high = {"bool": (0, 2), "uint8": (0, 9)}.get(given[0][1], (-8, 9))
        shapes = [tuple(n + grow * (i > 1) for i, n in enumerate(shape)) for shape, _ in given]
        return [torch.from_numpy(random.integers(low, high, shape).astype(dtype)) for shape, (_, dtype) in zip(shapes, given)]

    free_axes = {2: torch.export.Dim("height", min=4), 3: torch.export.Dim("width", min=4)} if free else {}
    words = ("x", "y")[: len(given)]
    shapes = {word: free_axes for word in words} if free else None
    torch.export.save(torch.export.export(Net(), tuple(numbers(0)), dynamic_shapes=shapes), tmp_path / "net.pt2")
    convoy("port", tmp_path / "net.pt2", "--to", "onnx", "-o", tmp_path / "net.onnx")
    session = plain_session(tmp_path / "net.onnx")
    for seed in range(2 if free else 1):
        x = numbers(seed, grow=seed)
        wanted = Net()(*x).numpy()
        given_words = []
        for word, tensor in zip(words, x):
            np.save(tmp_path / f"{word}.npy", tensor.numpy())
            given_words += ["--input", f"{word}={tmp_path / word}.npy"]
        convoy("run", tmp_path / "net.pt2", *given_words, "-o", tmp_path / "out.npy", "-f")
        got = np.load(tmp_path / "out.npy")
        ported = session.run(None, {word: tensor.numpy() for word, tensor in zip(words, x)})[0]
        for answer in (got, ported):
            assert answer.dtype == wanted.dtype
            np.testing.assert_allclose(np.asarray(answer, "f8"), np.asarray(wanted, "f8"), rtol=1e-5, atol=1e-5)


def test_whole_numbers_that_no_double_holds(tmp_path):
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            return (x == 2**53 + 1) | (x.clamp(min=-(2**53) - 1) == -(2**53) - 1)

    x = torch.tensor([2**53, 2**53 + 1, 2**53 + 2, -(2**53), -(2**53) - 1])
    torch.export.save(torch.export.export(Net(), (x,)), tmp_path / "net.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    convoy("run", tmp_path / "net.pt2", "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert (np.load(tmp_path / "y.npy") == Net()(x).numpy()).all()


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "int32"])
def test_source_takes_the_type_of_what_it_is_given(dtype, tmp_path):
    import torch

    text = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, i):\n        return i + 100\n"
    (tmp_path / "net.py").write_text(text)
    scope = {}
    exec(text, scope)
    x = np.array([[200, 1, 0]]).astype(dtype)
    np.save(tmp_path / "i.npy", x)
    convoy("run", f"{tmp_path}/net.py:Net", "--input", tmp_path / "i.npy", "-o", tmp_path / "y.npy")
    wanted, got = scope["Net"]()(torch.from_numpy(x)).numpy(), np.load(tmp_path / "y.npy")
    assert got.dtype == wanted.dtype and (got == wanted).all()


@pytest.mark.parametrize("row", [2, -1])
def test_the_padding_row_of_an_embedding_begins_with_zeros(row, tmp_path):
    import torch

    (tmp_path / "net.py").write_text(f"""import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 4, padding_idx={row})
        self.line = torch.nn.Linear(4, 3)
    def forward(self, i):
        return self.line(self.table(i))
""")
    scope = {}
    exec((tmp_path / "net.py").read_text(), scope)
    torch.manual_seed(5)
    net = scope["Net"]()
    x = torch.arange(7)[None]
    np.save(tmp_path / "i.npy", x.numpy())
    convoy("run", f"{tmp_path}/net.py:Net", "--seed", "5", "--input", tmp_path / "i.npy", "-o", tmp_path / "y.npy")
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), net(x).detach().numpy(), rtol=1e-5, atol=1e-6)
