"""Every sample call of PyTorch's own operator database, as an exported program: what convoy answers is what PyTorch answers, or it
refuses by name. More samples of each with FULL=1; the count of both is printed."""
import collections
import itertools
import logging
import random
import warnings

import numpy as np
import pytest
import torch
from carrying import CONVOY, FULL, convoy
from torch.testing._internal.common_methods_invocations import op_db

# Operators whose answer is not settled by their arguments, and families that the format does not hold.
RANDOM = "bernoulli cauchy dropout empty exponential fractional geometric multinomial normal rand resize rrelu uniform".split()
LEFT_OUT = ("fft.", "jiterator", "linalg.eig", "sparse", "special.airy")
TYPES = [torch.float32, torch.int64] + [torch.bool, torch.int32, torch.uint8, torch.float64, torch.int8] * FULL
TOLERANCE = 1e-4
MOST_NUMBERS = 20_000
LARGEST = 2**53  # whole numbers beyond it are not compared


def parts(value, leaves):
    """What a call is made of, with its tensors taken out into `leaves`."""
    if isinstance(value, torch.Tensor):
        leaves.append(value.detach().clone(memory_format=torch.contiguous_format))
        return lambda given, i=len(leaves) - 1: given[i]
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        inner = [parts(one, leaves) for one in value]
        return lambda given: type(value)(make(given) for make in inner)
    if isinstance(value, dict):
        inner = {name: parts(one, leaves) for name, one in value.items()}
        return lambda given: {name: make(given) for name, make in inner.items()}
    return lambda given: value


class Called(torch.nn.Module):
    def __init__(self, op, make):
        super().__init__()
        self.op, self.make = op, make

    def forward(self, *tensors):
        first, arguments, named = self.make(tensors)
        answer = self.op(first, *arguments, **named)
        return tuple(answer) if isinstance(answer, tuple) else answer  # of no class that the file does not know


def tensors_in(answer):
    if isinstance(answer, torch.Tensor):
        return [answer]
    return [t for one in answer for t in tensors_in(one)] if isinstance(answer, (list, tuple)) else []


def samples_of(op, dtype):
    count = (12 if dtype == torch.float32 else 4) if FULL else 1
    try:
        made = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), 100))
        if dtype == torch.float32:
            made += list(itertools.islice(op.reference_inputs("cpu", dtype, requires_grad=False), 60))
    except Exception:  # the database has no samples of this type
        return []
    return random.Random(7).sample(made, min(count, len(made)))


def difference(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape}, not {want.dtype} {want.shape}"
    if want.dtype.kind in "iub":
        return "" if np.array_equal(got, want) else "other whole numbers"
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return "other infinities or NaN"
    g, w = got[finite].astype(np.float64), want[finite].astype(np.float64)
    scale = np.maximum(np.abs(w), min(1.0, np.abs(w).max(initial=0)))
    return "" if np.all(np.abs(g - w) <= TOLERANCE * scale + 1e-30) else f"off by {np.abs(g - w).max()}"


def asked(op, sample, folder):
    """'same', 'refused', 'not asked', or what differs."""
    leaves = []
    make = parts((sample.input, sample.args, sample.kwargs), leaves)
    odd = any(t.layout != torch.strided or t.is_complex() or t.dtype == torch.bfloat16 for t in leaves)
    if odd or not leaves or sum(t.numel() for t in leaves) > MOST_NUMBERS:
        return "not asked"
    if any(t.dtype == torch.int64 and t.numel() and t.double().abs().max() > LARGEST for t in leaves):
        return "not asked"
    network = Called(op.op, make).eval()
    try:
        with torch.no_grad():
            answer = tensors_in(network(*[t.clone() for t in leaves]))
            want = [t.detach().resolve_neg().numpy() for t in answer if not t.is_complex()]
            torch.export.save(torch.export.export(network, tuple(leaves), strict=False), folder / "m.pt2")
    except Exception:  # PyTorch refuses the call, or cannot export it
        return "not asked"
    beyond = any(w.dtype == np.int64 and np.abs(w.astype(float)).max(initial=0) > LARGEST for w in want)
    if beyond or not want or len(want) != len(answer):
        return "not asked"
    inputs = []
    for i, leaf in enumerate(leaves):
        np.save(folder / f"{i}.npy", leaf.numpy())
        inputs += ["--input", f"tensors_{i}={folder / f'{i}.npy'}" if len(leaves) > 1 else folder / f"{i}.npy"]
    file = folder / ("y.npy" if len(want) == 1 else "y.npz")
    done = convoy("run", folder / "m.pt2", *inputs, "-o", file, "--force", code=None)
    if done.returncode:
        return "refused" if done.returncode in (5, 6) else f"exit code {done.returncode}: {done.stderr[:200]}"
    if len(want) == 1:
        got = [np.load(file)]
    else:
        with np.load(file) as several:
            got = [several[name] for name in several.files]
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    return next((d for d in map(difference, got, want) if d), "same")


@pytest.mark.parametrize("part", range(4))
def test_samples_of_the_operator_database(part, tmp_path, capsys):
    assert CONVOY.exists()
    verdicts, wrong = collections.Counter(), []
    asking = [op for op in op_db if not op.name.startswith(LEFT_OUT) and not any(word in op.name for word in RANDOM)]
    if not FULL:
        asking = asking[part::12]  # a sample of them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.__trace").setLevel(logging.ERROR)  # tells every tensor otherwise
        for op in (asking[part::4] if FULL else asking):
            for dtype in TYPES:
                # Masks of whole numbers are filled with the largest one, which lies beyond 2^53.
                if not op.supports_dtype(dtype, "cpu") or (op.name.startswith("masked.") and not dtype.is_floating_point):
                    continue
                torch.manual_seed(3)
                for sample in samples_of(op, dtype):
                    verdict = asked(op, sample, tmp_path)
                    verdicts[verdict if verdict in ("same", "refused", "not asked") else "different"] += 1
                    if verdict not in ("same", "refused", "not asked"):
                        wrong.append(f"{op.name} of {dtype}: {verdict}: {sample.args} {sample.kwargs}"[:300])
    with capsys.disabled():
        print(f"\nPyTorch's operator database, part {part}: {dict(verdicts)}")
    assert not wrong, "\n".join(wrong)
    assert verdicts["same"] > 30


# Operators that are others, one behind another: of a few samples each at least one is answered.
COMPOSED = """atleast_1d atleast_2d atleast_3d hstack vstack dstack column_stack vsplit hsplit dsplit fliplr flipud ravel
block_diag cartesian_prod combinations broadcast_tensors sum_to_size take as_strided as_strided_copy msort linalg.diagonal diagflat
narrow_copy transpose_copy unsqueeze_copy view_copy real positive resolve_conj isreal isclose nan_to_num fmax fmin signbit copysign
angle nansum nanmean nanmedian count_nonzero aminmax cummax cummin logcumsumexp diff trapezoid cumulative_trapezoid gradient
linalg.norm linalg.matrix_norm linalg.vector_norm dist renorm nn.functional.pdist addmv addr addbmm linalg.multi_dot
linalg.matrix_power inner linalg.vecdot linalg.vander cross kron xlogy special.xlog1py logaddexp2 sinc ldexp float_power isin
searchsorted softmax log_softmax linspace.tensor_overload native_layer_norm native_group_norm nn.functional.mse_loss
nn.functional.l1_loss nn.functional.smooth_l1_loss nn.functional.huber_loss nn.functional.binary_cross_entropy
nn.functional.binary_cross_entropy_with_logits nn.functional.kl_div nn.functional.nll_loss nn.functional.cross_entropy
nn.functional.multi_margin_loss nn.functional.cosine_embedding_loss nn.functional.triplet_margin_loss
nn.functional.margin_ranking_loss nn.functional.hinge_embedding_loss nn.functional.soft_margin_loss
nn.functional.poisson_nll_loss""".split()


def test_composed_operators_are_answered(tmp_path):
    by_name = {}
    for op in op_db:
        by_name.setdefault(f"{op.name}.{op.variant_test_name}" if "tensor_overload" in op.variant_test_name else op.name, op)
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.__trace").setLevel(logging.ERROR)
        for name in COMPOSED if FULL else COMPOSED[::4]:
            torch.manual_seed(3)
            op = by_name[name]
            made = list(itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=False), 100))
            verdicts = []
            for sample in random.Random(5).sample(made, min(6, len(made))):
                verdicts.append(asked(op, sample, tmp_path))
                if verdicts[-1] == "same" and not FULL:
                    break
            if "same" not in verdicts or not set(verdicts) <= {"same", "refused", "not asked"}:
                wrong.append(f"{name}: {verdicts}"[:300])
    assert not wrong, "\n".join(wrong)


class Views(torch.nn.Module):
    """Views of several tensors, one of which is changed: what the other one shows is not known, or it is right."""

    def forward(self, x, y):
        a, b = torch.broadcast_tensors(x, y)
        shown = torch.atleast_2d(x)[0]
        a.add_(1)
        return b + shown, torch.as_strided(y, (2,), (1,), 1)


def test_views_of_several_tensors_are_not_stale(tmp_path):
    x, y = torch.arange(3.0), torch.arange(3.0) * 10
    want = [t.numpy() for t in Views()(x.clone(), y.clone())]
    torch.export.save(torch.export.export(Views(), (x, y), strict=False), tmp_path / "m.pt2")
    torch.jit.trace(Views(), (x.clone(), y.clone()), check_trace=False).save(tmp_path / "m.pt")
    np.save(tmp_path / "x.npy", x.numpy())
    np.save(tmp_path / "y.npy", y.numpy())
    for file in ("m.pt2", "m.pt"):
        inputs = ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"y={tmp_path / 'y.npy'}"]
        done = convoy("run", tmp_path / file, *inputs, "-o", tmp_path / "z.npz", "--force", code=None)
        assert done.returncode in (0, 6), done.stderr
        if done.returncode == 0:
            with np.load(tmp_path / "z.npz") as got:
                assert all(np.array_equal(got[name], w) for name, w in zip(got.files, want, strict=True))
