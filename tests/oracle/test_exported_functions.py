"""Functions of PyTorch that no operator of ours is, in exported programs: what PyTorch answers, and a proved port."""
import numpy as np
import pytest
import torch
from carrying import assert_close, convoy, import_file, run_natively

X = torch.arange(2 * 3 * 6 * 5, dtype=torch.float32).remainder(53).sub(20).reshape(2, 3, 6, 5) / 8
NUMBERS = torch.tensor([-1.0, 0.0, 1.0])

CASES = {
    "kinds": lambda x: torch.isinf(1 / x).float() + torch.isfinite(torch.log(x)).float() * 2,
    "sides": lambda x: torch.isposinf(1 / x).float() - torch.isneginf(torch.log(x.abs())).float(),
    "exp2": lambda x: torch.exp2(x),
    "erfc": lambda x: torch.log(torch.erfc(x)),
    "logit": lambda x: torch.logit(torch.sigmoid(x)) + torch.logit(torch.sigmoid(x), eps=0.2),
    "round": lambda x: torch.round(x * 0.37, decimals=2) + torch.round(x * 37, decimals=-1),
    "xlogy": lambda x: torch.xlogy(x, x.abs()),
    "heaviside": lambda x: torch.heaviside(x, torch.tensor(0.5)),
    "degrees": lambda x: torch.deg2rad(x) + torch.rad2deg(x) * torch.sgn(x),
    "kthvalue": lambda x: torch.kthvalue(x, 2, dim=2)[0],
    "median": lambda x: torch.median(x, dim=2)[0],
    "median_kept": lambda x: torch.median(x / x, dim=-1, keepdim=True).values,
    "median_of_all": lambda x: x - torch.median(x),
    "quantile": lambda x: torch.quantile(x, 0.3, dim=2),
    "fake_quantize": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255),
    "fake_quantize_by_tensors": lambda x: torch.fake_quantize_per_tensor_affine(
        x, torch.tensor([0.03]), torch.tensor([-2], dtype=torch.int32), -127, 127),
    "fake_quantize_channels": lambda x: torch.fake_quantize_per_channel_affine(
        x, torch.linspace(0.01, 0.1, x.shape[1]), torch.arange(x.shape[1], dtype=torch.int32), 1, -128, 127),
    "fake_quantize_16": lambda x: torch.fake_quantize_per_tensor_affine(x, 1e-3, 0, -32768, 32767),
    "quantile_lower": lambda x: torch.quantile(x, 0.3, dim=2, keepdim=True, interpolation="lower"),
    "bucketize": lambda x: torch.bucketize(x, NUMBERS),
    "bucketize_right": lambda x: torch.bucketize(x, NUMBERS, right=True),
    "searchsorted": lambda x: torch.searchsorted(NUMBERS, x, out_int32=True),
    "take_along": lambda x: torch.take_along_dim(x, torch.argsort(x, dim=2, stable=True), dim=2),
    "diff": lambda x: torch.diff(x, n=2, dim=2),
    "trapezoid": lambda x: torch.trapezoid(x, dx=0.5, dim=2),
    "cross": lambda x: torch.linalg.cross(x, x.flip(2), dim=1),
    "tensordot": lambda x: torch.tensordot(x, x, dims=([1, 3], [1, 3])),
    "kron": lambda x: torch.kron(x[0, 0], x[0, 1, :2]),
    "norm_of_3": lambda x: torch.linalg.vector_norm(x, ord=3, dim=1),
    "einsum_dots": lambda x: torch.einsum("...ij,...kj->...ik", x, x),
    "einsum_of_one": lambda x: torch.einsum("bchw->bwc", x),
    "einsum_of_three": lambda x: torch.einsum("bchw,bcw,bc->bhc", x, x[:, :, 0], x[:, :, 1, 1]),
    "einsum_no_arrow": lambda x: torch.einsum("bchw,cw", x, x[0, :, 0]),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_of_exported_programs(name, tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            return CASES[name](x)

    torch.export.save(torch.export.export(Net(), (X,)), tmp_path / "m.pt2")
    got = run_natively([tmp_path / "m.pt2"], {"x": X.numpy()}, tmp_path)
    want = Net()(X).numpy()
    finite = np.isfinite(want)
    assert np.array_equal(got[0][~finite], want[~finite], equal_nan=True)
    assert_close([np.where(finite, got[0], 0)], [np.where(finite, want, 0)], 1e-5)
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.py")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.onnx")


# As many numbers as a free size says: those of the tensor itself are nobody's business.
LIKE = {
    "zeros": lambda x: torch.where(torch.isnan(x), torch.zeros_like(x), x),
    "ones": lambda x: torch.where(torch.isinf(x), torch.ones_like(x), x),
    "full": lambda x: torch.full_like(x, -2.5),
    "whole": lambda x: torch.ones_like(x, dtype=torch.int64) + torch.zeros_like(x, dtype=torch.int64),
    "truths": lambda x: torch.zeros_like(x, dtype=torch.bool) | (x > 0),
    "sign of zero": lambda x: torch.sigmoid(x / torch.zeros_like(x)),
}


@pytest.mark.parametrize("name", LIKE)
def test_filled_like_another(name, tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            return LIKE[name](x)

    x = torch.tensor([[1.0, -2.0, torch.inf], [-torch.inf, 3.0, torch.nan]])
    x = torch.nan_to_num(x, nan=-1.0) if name == "sign of zero" else x
    batch = torch.export.Dim("batch")
    torch.export.save(torch.export.export(Net(), (x,), dynamic_shapes=({0: batch},)), tmp_path / "m.pt2")
    torch.jit.trace(Net(), torch.ones(3, 3)).save(tmp_path / "m.pt")
    want = Net()(x).numpy()
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.onnx")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "again.py")
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.tflite")
    for file, shape in (("m.pt2", []), ("m.pt", ["--shape", "?,3"]), ("m.onnx", []), ("m.tflite", [])):
        (got,) = run_natively([tmp_path / file, *shape], {"x": x.numpy()}, tmp_path)
        assert np.array_equal(got, want, equal_nan=True), file
    ported = import_file(tmp_path / "again.py").load()
    assert np.array_equal(ported(x).numpy(), want, equal_nan=True)


@pytest.mark.parametrize("of_truths", [True, False])
def test_a_query_that_sees_nothing_gives_zeros(of_truths, tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x, seen):
            mask = seen if of_truths else torch.where(seen, 0.0, float("-inf"))
            return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask[:, None, :].expand(-1, 3, -1))

    x, seen = torch.arange(12.0).reshape(2, 3, 2) / 10, torch.tensor([[True, True, False], [False, False, False]])
    program = torch.export.export(Net(), (x, seen), dynamic_shapes=({0: torch.export.Dim("batch")},) * 2)
    torch.export.save(program, tmp_path / "m.pt2")
    torch.export.save(program.run_decompositions(), tmp_path / "plain.pt2")
    want = Net()(x, seen).numpy()
    assert (want[1] == 0).all()
    convoy("port", tmp_path / "m.pt2", "-o", tmp_path / "m.onnx")
    for file in ("m.pt2", "plain.pt2", "m.onnx"):
        (got,) = run_natively([tmp_path / file], {"x": x.numpy(), "seen": seen.numpy()}, tmp_path)
        assert_close(got, want, 1e-6)


def test_a_local_response_over_a_series_is_no_operator_of_onnx_runtime(tmp_path):
    (tmp_path / "net.py").write_text("from torch import nn\nmodel = nn.Sequential(nn.Conv1d(4, 4, 1), nn.LocalResponseNorm(3))\n")
    port = ["port", tmp_path / "net.py", "--shape", "1,4,5", "-o", tmp_path / "m.onnx"]
    assert "local response over other than images" in convoy(*port, code=6).stderr
