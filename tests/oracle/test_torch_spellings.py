"""Functions of PyTorch as an exported program, traced, scripted and in source: the same answer from all four, and PyTorch's own."""
import importlib.util

import numpy as np
import pytest
from carrying import assert_close, convoy, port, run_natively

F, W = "float32", "int64"
HEAD = """import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def forward(self, {}):
        {}
"""
# name -> the lines, the shapes and types of x, y, z, w; whole numbers are places along an axis of so many cells
CASES = {
    "scatter_part": ("return x.scatter(1, y, z)", [((3, 4), F), ((2, 1), W, 4), ((3, 2), F)]),
    "scatter_part_along_0": ("return x.scatter(0, y, z)", [((3, 4), F), ((1, 2), W, 3), ((2, 3), F)]),
    "scatter_number": ("return x.scatter(1, y, 2.0)", [((3, 4), F), ((2, 1), W, 4)]),
    "scatter_add_part": ("return x.scatter_add(1, y, z)", [((3, 4), F), ((2, 3), W, 4), ((3, 4), F)]),
    "scatter_three_axes": ("return x.scatter_add(1, y, z)", [((3, 4, 5), F), ((2, 6, 3), W, 4), ((2, 7, 4), F)]),
    "scatter_largest": ("return x.scatter_reduce(1, y, z, 'amax')", [((3, 4), F), ((2, 3), W, 4), ((3, 4), F)]),
    "scatter_mean": ("return x.scatter_reduce(0, y, z, reduce='mean')", [((4,), F), ((6,), W, 3), ((6,), F)]),
    "scatter_mean_alone": ("return x.scatter_reduce(0, y, z, reduce='mean', include_self=False)", [((4,), F), ((6,), W, 3), ((6,), F)]),
    "put": ("return x.index_put((y,), z)", [((5, 4), F), ((2,), W, 5), ((2, 4), F)]),
    "put_by_two": ("return x.index_put((y, z), w, accumulate=True)", [((5, 4), F), ((6,), W, 5), ((6,), W, 4), ((6,), F)]),
    "write_rows": ("x = x.clone()\n        x[y] = z\n        return x", [((5, 4), F), ((1,), W, 5), ((1, 4), F)]),
    "write_columns": ("x = x.clone()\n        x[:, y] = 0.5\n        return x", [((5, 4), F), ((2,), W, 4)]),
    "write_cells": ("x = x.clone()\n        x[:, y, z] = w\n        return x", [((2, 5, 4), F), ((1,), W, 5), ((1,), W, 4), ((2, 1), F)]),
    "write_column": ("x = x.clone()\n        x[:, 1] = y\n        return x", [((5, 4), F), ((5,), F)]),
    "write_part": ("x = x.clone()\n        x[1:3, -2:] = y\n        x[0] = 2.0\n        return x * 2", [((5, 4), F), ((2, 2), F)]),
    "write_by_mask": ("x = x.clone()\n        x[x < 0] = 0.5\n        return x", [((5, 4), F)]),
    "vector_norm": ("return torch.linalg.vector_norm(x, 3, dim=1, keepdim=True)", [((3, 4), F)]),
    "vector_norm_inf": ("return torch.linalg.vector_norm(x, float('inf'), dim=(0, 1))", [((3, 4), F)]),
    "norm": ("return x / torch.linalg.norm(x, dim=-1, keepdim=True)", [((3, 4), F)]),
    "norm_one": ("return torch.norm(x, p=1, dim=1)", [((3, 4), F)]),
    "matrix_norm": ("return torch.linalg.matrix_norm(x) + torch.linalg.matrix_norm(x, 1)", [((2, 3, 4), F)]),
    "products": ("return torch.linalg.multi_dot([x, y, z])", [((2, 3), F), ((3, 4), F), ((4, 5), F)]),
    "matrix_power": ("return torch.linalg.matrix_power(x, 3)", [((3, 3), F)]),
    "tensordot": ("return torch.tensordot(x, y, dims=([2, 0], [1, 0]))", [((2, 3, 4), F), ((2, 4, 5), F)]),
    "tensordot_last": ("return torch.tensordot(x, y, dims=1)", [((2, 3), F), ((3, 5), F)]),
    "special": ("return torch.special.expit(x) + torch.special.erf(x) + torch.special.expm1(x) + torch.special.exp2(x)", [((3, 4), F)]),
    "special_sums": ("return torch.special.logsumexp(x, 1) + torch.special.xlogy(x, 2.0).sum(1)", [((3, 4), F)]),
    "constant_in_code": ("return torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])) + torch.tensor(3)", [((3, 4), F)]),
    "running_most": ("return torch.cummax(x, 1)[0] - torch.cummin(x, 1)[0]", [((3, 4), F)]),
    "medians": ("return torch.median(x, 1)[0] + x.median() + torch.nanmedian(x, 0)[0].sum()", [((3, 5), F)]),
    "computed_table": ("return F.embedding(y, x * 2)", [((5, 3), F), ((4,), W, 5)]),
    "sorted_rows": ("return torch.msort(x)", [((5, 3), F)]),
}


def tensor(random, shape, dtype, cells=None):
    import torch

    if dtype != W:
        return torch.from_numpy(random.standard_normal(shape).astype(dtype))
    many = np.broadcast_to(np.arange(cells), (*shape[:-1], cells))  # no place twice while there are enough
    picked = random.permuted(many, axis=-1) if shape[-1] <= cells else random.integers(0, cells, shape)
    return torch.from_numpy(picked[..., : shape[-1]].astype(dtype).copy())


@pytest.mark.parametrize("form", ["exported", "traced", "scripted", "source"])
@pytest.mark.parametrize("name", CASES)
def test_all_forms_answer_as_pytorch(name, form, tmp_path):
    import torch

    lines, given = CASES[name]
    words = "xyzw"[: len(given)]
    types = ", ".join(f"{word}: torch.Tensor" for word in words)
    (tmp_path / "net.py").write_text(HEAD.format(types, lines))
    spec = importlib.util.spec_from_file_location(f"net_{name}_{form}", tmp_path / "net.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.Net().eval()
    random = np.random.default_rng(3)
    inputs = [tensor(random, *one) for one in given]
    want = [net(*inputs).numpy()]
    options = [f"--shape={word}={','.join(map(str, one[0]))}:{one[1]}" for word, one in zip(words, given)]
    if form == "exported":
        source, options = [tmp_path / "net.pt2"], []
        torch.export.save(torch.export.export(net, tuple(inputs)), source[0])
    elif form == "source":
        source = [f"{tmp_path / 'net.py'}:Net"]
    else:
        source = [tmp_path / "net.pt"]
        made = torch.jit.trace(net, tuple(inputs), check_trace=False) if form == "traced" else torch.jit.script(net)
        made.save(source[0])
    got = run_natively(source, {word: x.numpy() for word, x in zip(words, inputs)}, tmp_path, *options)
    assert got[0].dtype == want[0].dtype
    assert_close(got, want)
    if form == "exported":
        assert_close(port(source, tmp_path / "port.py")([x.numpy() for x in inputs]), want)


def test_powers_of_one_number_that_are_next_to_nothing(tmp_path):
    """As float32, in which answers are stored, they are nothing at all."""
    import torch

    class Net(torch.nn.Module):
        def forward(self, x, y):
            return torch.float_power(x, y)

    torch.export.save(torch.export.export(Net(), (torch.tensor([3]), torch.tensor([2]))), tmp_path / "net.pt2")
    made = port([tmp_path / "net.pt2"], tmp_path / "net.py")
    np.testing.assert_array_equal(made([np.array([-63]), np.array([-35])])[0], np.array([-63.0]) ** -35)
    assert made.module.check() == 0


@pytest.mark.parametrize("form", ["exported", "traced"])
@pytest.mark.parametrize("left_out", [None, -1, 4])
def test_bags_whose_last_row_is_left_out_are_refused(left_out, form, tmp_path):
    """-1 is the last row in this form of the operator, and no row in another."""
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn(5, 4, generator=torch.Generator().manual_seed(0)))

        def forward(self, x):
            return torch.nn.functional.embedding_bag(x, self.table, mode="sum", padding_idx=left_out)

    x = torch.tensor([[0, 4], [4, 2], [1, 3]])
    net, path = Net().eval(), tmp_path / "net.pt"
    if form == "exported":
        torch.export.save(torch.export.export(net, (x,)), path)
    else:
        torch.jit.trace(net, (x,)).save(path)
    shape = ["--shape=x=3,2:int64"] if form == "traced" else []
    if left_out is None:
        assert_close(run_natively([path], {"x": x.numpy()}, tmp_path, *shape), [net(x).detach().numpy()])
    else:
        assert "leave out the row 'padding_idx'" in convoy("port", path, "-o", tmp_path / "m.onnx", *shape, code=6).stderr
