"""What PyTorch does at the edges: one expression of x, y and z a row, as the source of a small module."""
import numpy as np
from edges import (BYTE_ROWS, BYTES, F32, FAR, FINITE, INF, LEFT, NAN, ODD, ODD_ROWS, PLAIN_ROWS, QUOTIENTS, RIGHT, SPECIAL,
                   STEPS, TIES, TRUTH, TRUTH_ROWS, WHOLE, WHOLE_FAR, WHOLE_LEFT, WHOLE_RIGHT, WHOLE_ROWS, grid)

FLOATS = {"finite": FINITE, "far": FAR, "special": SPECIAL}
WHOLES = {"int32": WHOLE, "int32_far": WHOLE_FAR, "uint8": BYTES}
ROWS = {"ties": TIES, "odd": ODD_ROWS, "plain": PLAIN_ROWS}
WHOLE_ROWS_BY = {"int32": WHOLE_ROWS, "uint8": BYTE_ROWS, "bool": TRUTH_ROWS}

EXACT = """torch.abs(x)|-x|torch.sign(x)|torch.floor(x)|torch.ceil(x)|torch.round(x)|torch.trunc(x)|torch.frac(x)|torch.square(x)
x == x|x != x|x > 0|x >= 0|x < 0|x <= 0|x == 0|torch.isnan(x)|torch.isinf(x)|torch.isfinite(x)|torch.logical_not(x)|x.bool()|x * 0|x + 0
x - x|0 - x|x * -1|x / 1|x / 0|0 * x + 1|F.relu(x)|F.relu6(x)|F.hardtanh(x)|F.hardtanh(x, -2.0, 0.5)|F.leaky_relu(x, 0.25)
F.leaky_relu(x, -0.5)|F.leaky_relu(x, 0.0)|F.leaky_relu(x, 2.0)|F.threshold(x, 0.5, -7.0)|F.threshold(x, -1.0, 20.0)|F.hardshrink(x)
F.hardshrink(x, 1.5)|F.hardshrink(x, 0.0)|F.softshrink(x)|F.softshrink(x, 1.5)|F.softshrink(x, 0.0)|torch.nan_to_num(x)
torch.nan_to_num(x, 1.0, 2.0, -2.0)|x.clamp(0.5, -0.5)|x.clamp(-0.5, 0.5)|x.clamp(min=0.5)|x.clamp(max=-0.5)|x.clamp(0.0, -1.0)
x.clamp(3.0, 2.0)|x.clamp(0.0, 0.0)|x.clamp(-1.0, -1.0)|x.clamp(1.0, 1.0)|x.clamp(1.0, -1.0)|x.clamp(0.0, 6.0)|x.clamp(min=-0.0)
x.clamp(max=0.0)|x.clamp(0.0, 1.0)|torch.clamp_min(x, 2.0)|torch.clamp_max(x, -2.0)|torch.clamp_max(torch.clamp_min(x, 0.5), -0.5)
torch.clamp_min(torch.clamp_max(x, -0.5), 0.5)|torch.maximum(x, torch.tensor(0.0))|torch.minimum(x, torch.tensor(-1.0))
torch.where(x > 0, x, torch.zeros_like(x))|torch.where(x > 1, 1.0, x)|x.masked_fill(x < 0, 0.0)|x.masked_fill(x != x, 5.0)
torch.where(x > 0, 1.0, 0.0)|(x > 0).float()|(x > 0).float() * x|torch.relu(-x)|-torch.relu(x)|F.relu(x) - F.relu(-x)|x % 3|x % -3|x % 0.75
x // 3|x // -3|x // 0.75|torch.fmod(x, 3)|torch.fmod(x, -3)|torch.remainder(x, 2.5)|torch.remainder(x, -2.5)
torch.div(x, 2, rounding_mode='floor')|torch.div(x, 2, rounding_mode='trunc')|torch.div(x, -2, rounding_mode='floor')
torch.div(x, -2, rounding_mode='trunc')|x // 0|x % 0|torch.sgn(x)|torch.positive(x)|F.relu(x, inplace=True)|x.abs().neg()|torch.round(x * 2) / 2
torch.floor(x + 0.5)|torch.heaviside(x, torch.tensor(0.5))|torch.signbit(x)|x.type_as(x)|torch.round(x, decimals=1)|torch.fix(x)"""

NEAR = """torch.exp(x)|torch.log(x)|torch.sqrt(x)|torch.rsqrt(x)|torch.reciprocal(x)|1 / x|2 / x|torch.sin(x)|torch.cos(x)|torch.tan(x)
torch.asin(x)|torch.acos(x)|torch.atan(x)|torch.sinh(x)|torch.cosh(x)|torch.asinh(x)|torch.acosh(x)|torch.atanh(x)|torch.expm1(x)
torch.log1p(x)|torch.log2(x)|torch.log10(x)|torch.erf(x)|torch.sigmoid(x)|torch.tanh(x)|F.elu(x)|F.elu(x, 0.5)|F.elu(x, -1.0)|F.selu(x)
F.celu(x)|F.celu(x, 2.0)|F.celu(x, -1.5)|F.gelu(x)|F.gelu(x, approximate='tanh')|F.silu(x)|F.mish(x)|F.softplus(x)|F.softplus(x, beta=2.0)
F.softplus(x, beta=0.5, threshold=5)|F.softplus(x, threshold=1)|F.softplus(x, beta=-1.0)|F.softsign(x)|F.logsigmoid(x)|F.hardsigmoid(x)
F.hardswish(x)|F.tanhshrink(x)|x ** 2|x ** 3|x ** 0.5|x ** -1|x ** -2|x ** 0|x ** 1|x ** -0.5|x ** 1.5|x ** (1 / 3)|2 ** x|0 ** x|1 ** x
(-2.0) ** x|torch.pow(x, 2.0)|torch.exp2(x)|x * torch.sigmoid(1.702 * x)|torch.log(x + 1)|torch.sqrt(x + 1)|torch.sqrt(torch.abs(x))
torch.exp(x) / (1 + torch.exp(x))|x / (1 + torch.abs(x))|x * torch.tanh(F.softplus(x))|torch.log(1 + torch.exp(x))|torch.logit(x)
torch.logit(x, 0.25)|torch.special.expit(x)|torch.sinc(x)|torch.erfc(x)"""

WHOLE_TOO = """torch.abs(x)|-x|torch.sign(x)|torch.square(x)|x * x|x + x|x - 1|x * 3|x + 0.5|x * 0.5|x / 2|x / 0|x // 2|x // -2|x % 3|x % -3
x == 0|x > 1|torch.relu(x)|x.clamp(3, -2)|x.clamp(-2, 3)|x.clamp(min=1)|x.clamp(max=1)|x.clamp(0.5, 2.5)|x.float()|x.bool()|x.float() / 3
torch.logical_not(x)|x ** 2|x ** 3|2 ** x.clamp(0, 5)|x.clamp(-2, 3) ** 2.0|torch.sqrt(x)|torch.exp(x.clamp(-9, 9))|torch.sigmoid(x)
torch.where(x > 1, x, 0)|torch.where(x > 1, x, 0.5)|torch.fmod(x, 3)|torch.fmod(x, -3)|torch.div(x, 2, rounding_mode='trunc')
torch.div(x, -3, rounding_mode='trunc')|torch.div(x, -3, rounding_mode='floor')|torch.floor(x)|torch.round(x)|torch.ceil(x)|torch.trunc(x)
x + True|x.masked_fill(x > 1, 1)|torch.maximum(x, torch.tensor(1))|torch.reciprocal(x)|1 / x|torch.rsqrt(x)|x * 1.0|x.to(torch.int64) * x
x.to(torch.int8)|x.to(torch.int16)|x.to(torch.uint8)|x.to(torch.int32)|torch.log(x)|F.relu6(x)|F.hardtanh(x, -2, 3)|5 - x|x.double() / 7"""

BOOL_TOO = """x + x|x * x|x | x|x & x|x ^ x|~x|torch.logical_not(x)|x.float()|x.long() - 1|x == True|x > 0|x + 1|x * 2|x * 0.5|x / 2|torch.where(x, 1.0, 2.0)
torch.where(x, 1, 2)|torch.sum(x)|torch.any(x)|torch.all(x)|x.float().mean()|torch.sigmoid(x)|-x.int()|torch.logical_and(x, ~x)|x.to(torch.uint8)
torch.maximum(x, ~x)|torch.cumsum(x, 0)|torch.prod(x)|torch.abs(x.int())|torch.max(x)|x | (x > 2)|torch.logical_xor(x, x)|x < 1|x.clamp(0, 1)"""

PAIRS = """x + y|x - y|x * y|x / y|x // y|x % y|torch.fmod(x, y)|torch.remainder(x, y)|torch.maximum(x, y)|torch.minimum(x, y)|torch.max(x, y)|torch.min(x, y)
torch.div(x, y, rounding_mode='trunc')|torch.div(x, y, rounding_mode='floor')|x == y|x != y|x < y|x <= y|x > y|x >= y|torch.where(x > y, x, y)
torch.where(x < y, x, y)|torch.logical_and(x, y)|torch.logical_or(x, y)|torch.logical_xor(x, y)|torch.clamp(x, min=y)|torch.clamp(x, max=y)
torch.clamp(x, y, -y)|torch.fmax(x, y)|torch.fmin(x, y)|torch.floor_divide(x, y)|torch.copysign(x, y)|torch.true_divide(x, y)
torch.lerp(x, y, 0.25)|torch.lerp(x, y, 0.75)|torch.add(x, y, alpha=2)|torch.sub(x, y, alpha=-2)|torch.rsub(x, y)"""
NEAR_PAIRS = "x ** y|torch.pow(x, y)|torch.atan2(x, y)|torch.hypot(x, y)|torch.logaddexp(x, y)|torch.sqrt(x * x + y * y)"

FOLDS = """torch.sum(x, 1)|torch.mean(x, 1)|torch.prod(x, 1)|torch.amax(x, 1)|torch.amin(x, 1)|torch.max(x, 1)|torch.min(x, 1)|torch.max(x)|torch.min(x)
torch.argmax(x, 1)|torch.argmin(x, 1)|torch.argmax(x)|torch.argmin(x)|torch.argmax(x, 1, keepdim=True)|torch.topk(x, 2, 1)|torch.topk(x, 3, 1, largest=False)
torch.topk(x, 4, 1)|torch.sort(x, dim=1, stable=True)|torch.sort(x, dim=1, descending=True, stable=True)|torch.argsort(x, dim=1, stable=True)|torch.cumsum(x, 1)
torch.cumprod(x, 1)|torch.any(x, 1)|torch.all(x, 1)|torch.sum(x)|torch.sum(x, 0)|torch.mean(x, 0)|torch.prod(x)|torch.amax(x, (0, 1))
torch.argmax(x, 0)|torch.argmin(x, -1)|torch.topk(x, 1)|x.max(1).values|x.max(1)[1]|torch.flip(x, [1])|torch.count_nonzero(x, 1)
torch.median(x, 1)|torch.sort(x, 1)|torch.argsort(x, dim=1, descending=True, stable=True)|torch.cummax(x, 1)|torch.nansum(x, 1)"""
NEAR_FOLDS = """torch.softmax(x, 1)|torch.log_softmax(x, 1)|F.softmin(x, 1)|torch.logsumexp(x, 1)|torch.std(x, 1)|torch.var(x, 1, unbiased=False)
torch.norm(x, dim=1)|torch.norm(x, p=1, dim=1)|torch.norm(x, p=float('inf'), dim=1)|F.normalize(x, dim=1)|F.normalize(x, p=1.0, dim=1)
F.layer_norm(x, (4,))|x / x.sum(1, keepdim=True)|x - x.mean(1, keepdim=True)|F.glu(x, 1)|torch.var_mean(x, 1)|torch.softmax(x, 0)|x.mean(1).sqrt()"""

image = F32([[3, NAN, 1, 2, 0], [1, 5, 5, -1, 4], [-INF, 2, 7, 7, -3], [INF, -2, 0, -0.0, 9], [1, 1, -9, 6, 6]])[None, None]
plain = F32([[3, -8, 1, 2, 0], [1, 5, 5, -1, 4], [-4, 2, 7, 7, -3], [-6, -2, 0, -0.0, 9], [1, 1, -9, 6, 6]])[None, None]
low = np.full((1, 1, 5, 5), -INF, np.float32)
IMAGES = {"odd": image, "plain": plain, "negative": plain - 20, "lowest": low}
ON_IMAGES = """F.max_pool2d(x, 2)|F.max_pool2d(x, 3, 2, 1)|F.max_pool2d(x, 2, ceil_mode=True)|F.max_pool2d(x, 2, 1, dilation=2)|F.avg_pool2d(x, 2)
F.avg_pool2d(x, 3, 2, 1)|F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)|F.avg_pool2d(x, 2, ceil_mode=True)|F.adaptive_avg_pool2d(x, 1)
F.adaptive_avg_pool2d(x, (2, 3))|F.adaptive_max_pool2d(x, 1)|F.adaptive_max_pool2d(x, (2, 3))|F.max_pool2d(x, 3, 2, 1, return_indices=True)
F.max_pool2d(x, 2, return_indices=True)|F.lp_pool2d(x.abs(), 2.0, 2)|F.interpolate(x, scale_factor=2)|F.interpolate(x, scale_factor=0.5)
F.interpolate(x, size=(3, 7), mode='bilinear')|F.interpolate(x, size=(3, 7), mode='nearest-exact')|F.interpolate(x, size=(4, 8), mode='nearest')
F.pad(x, (1, 2, 0, 1), value=float('-inf'))|F.pad(x, (1, 2, 1, 0), mode='reflect')|F.pad(x, (1, 1, 2, 2), mode='replicate')
F.pad(x, (-1, 1, 0, -2))|F.pad(x, (2, 1, 1, 3), mode='circular')|x.mean((2, 3))|x.amax((2, 3))|x.flatten(2).max(2).values|F.softmax(x, 1)
F.pixel_unshuffle(x[:, :, :4, :4], 2)|F.unfold(x, 2)|torch.roll(x, 2, 3)|x[..., ::2]|x[:, :, -2:]|x.flip(3)|F.local_response_norm(x, 2)"""

pick = F32([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, NAN]])
OTHERS = [
    *[(text, grid(QUOTIENTS, STEPS), 0 if "%" in text or "mod" in text else 1)
      for text in ("x // y", "x % y", "torch.fmod(x, y)", "torch.div(x, y, rounding_mode='trunc')", "torch.floor(x / y)")],
    *[(f"x // {step}", [QUOTIENTS], 1) for step in (0.1, -0.1, 0.7, 0.5)], *[(f"x % {step}", [QUOTIENTS], 0) for step in (0.1, -0.1, 0.7)],
    ("x[[0, -1, 2]]", [pick], 1), ("x[:, -1]", [pick], 1), ("x[-2]", [pick], 1), ("x[1:100]", [pick], 1), ("x[-100:2]", [pick], 1),
    ("x[3:1]", [pick], 1), ("torch.index_select(x, 0, torch.tensor([3, 0]))", [pick], 1), ("x[y.long()]", [pick, F32([0, -1, -4, 3])], 1),
    ("x[y.long()]", [pick, F32([0, 4])], 1), ("x[y.long()]", [pick, F32([0, -5])], 1),
    ("torch.index_select(x, 0, y.long())", [pick, F32([0, -1])], 1), ("torch.index_select(x, 0, y.long())", [pick, F32([0, 3, 3])], 1),
    ("torch.gather(x, 1, y.long())", [pick, F32([[0, 2], [1, 1], [2, 0], [0, 0]])], 1),
    ("torch.gather(x, 1, y.long())", [pick, F32([[0, -1], [1, 1], [2, 0], [0, 0]])], 1),
    ("torch.gather(x, 1, y.long())", [pick, F32([[0, 3], [1, 1], [2, 0], [0, 0]])], 1),
    ("F.embedding(y.long(), x)", [pick, F32([0, 3, 1])], 1), ("F.embedding(y.long(), x)", [pick, F32([0, -1])], 1),
    ("F.embedding(y.long(), x)", [pick, F32([4])], 1), ("torch.take_along_dim(x, y.long(), 1)", [pick, F32([[0], [1], [2], [0]])], 1),
    ("F.one_hot(y.long(), 4) + x", [pick[:, :1], F32([0, 3, 1, 2])], 1), ("F.one_hot(y.long(), 3) + x", [pick[:, :1], F32([0, 3, 1, 2])], 1),
    ("F.one_hot(y.long(), 3) + x", [pick[:, :1], F32([0, -1, 1, 2])], 1),
    ("torch.where(y > 0, x, x * 0)", [F32([NAN, INF, 1, -0.0]), F32([1, 0, NAN, -1])], 1),
    ("x.where(y > 0, x - 1)", [F32([NAN, INF, 2, -0.0]), F32([1, 0, NAN, -1])], 1),
    ("torch.lerp(x, y, -0.75)", [F32([1, 1e8, INF, 3]), F32([-2, 1, 1, NAN])], 0),
    ("torch.lerp(x, y, y)", [F32([1, 1e8, 3, -7]), F32([-0.75, 0.25, 0.5, NAN])], 0),
    ("torch.where(y.bool(), x, -x)", [F32([NAN, INF, 1, -0.0]), F32([1, 0, NAN, -0.0])], 1),
    ("x @ y", [F32([[INF, 1], [0, 2]]), F32([[0, 1], [1, NAN]])], 0), ("x @ y", [F32([[1e30, -1e30], [0, 2]]), F32([[1e30, 1], [1e30, 1]])], 0),
    ("x.int() @ y.int()", [F32([[65536, 3], [-7, 2]]), F32([[65536, 1], [5, -1]])], 1),
    ("x.int() * y.int()", grid(WHOLE_FAR.astype(F32)[3:6], WHOLE_FAR.astype(F32)[3:6]), 1),
    ("x.long() * y.long()", grid(F32([4294967296, -3, 8388608]), F32([4294967296, 1 << 40, -2])), 1),
    ("x.to(torch.int32) + y", grid(WHOLE.astype(F32), F32([0.5, -0.25])), 1),
    ("x.to(torch.uint8) + y.to(torch.int8)", [F32([255, 200, 3]), F32([-1, 100, -128])], 1),
    ("x.to(torch.uint8) + y.to(torch.uint8)", [F32([255, 200, 3]), F32([1, 100, 128])], 1),
    ("x.to(torch.uint8) - y.to(torch.uint8)", [F32([255, 20, 3]), F32([1, 100, 128])], 1),
    ("x.to(torch.uint8) / 255", [BYTES.astype(F32)], 0), ("(x.to(torch.uint8).float() - 127.5) / 127.5", [BYTES.astype(F32)], 0),
    ("-x.to(torch.uint8)", [BYTES.astype(F32)], 1), ("~(x > 0)", [SPECIAL], 1), ("(x > 0) & (x < 2)", [SPECIAL], 1), ("(x > 0) | (x < -0.5)", [SPECIAL], 1),
    ("(x > 0) ^ (x < 2)", [SPECIAL], 1), ("(x > 0) == (x < 2)", [SPECIAL], 1), ("(x > 0) + x", [SPECIAL], 1), ("(x > 0) * (x < 2)", [SPECIAL], 1),
    ("torch.arange(5, 0, -2) + x", [F32([0.5])], 1), ("torch.linspace(0, 1, 4) + x", [F32([0.0])], 0), ("torch.full((3,), 7) / x", [F32([2])], 1),
    ("torch.full((3,), 7) // x", [F32([-2])], 1), ("x.new_zeros(3) / 0", [F32([-2])], 1), ("torch.tensor([1, 2]) / 2 + x", [F32([-2])], 1),
    ("x.reshape(2, -1).sum(1)", [F32([3e38, 3e38, -3e38, 1])], 1), ("torch.tril(x)", [ODD_ROWS[:4]], 1), ("torch.triu(x, 1)", [ODD_ROWS[:4]], 1),
    ("torch.outer(x, y)", [F32([INF, 0, -0.0]), F32([0, -1, NAN])], 1), ("torch.cat([x.int(), y], 0)", [F32([1, 2]), F32([0.5, NAN])], 1),
    ("torch.stack([x, y], 1).flatten()", [F32([1, -0.0]), F32([NAN, INF])], 1), ("torch.dot(x, y)", [F32([INF, 1]), F32([0, 1])], 1),
    ("F.batch_norm(x, torch.zeros(2), torch.zeros(2))", [F32([[1, 0], [-1, NAN]])], 0),
    ("F.batch_norm(x, torch.zeros(2), torch.ones(2), eps=0.0)", [F32([[1, 0], [-1, INF]])], 0),
    ("F.instance_norm(x)", [F32([[[1, 1, 1], [1, 2, 3]]])], 0), ("F.group_norm(x, 1)", [F32([[[1, NAN, 1], [1, 2, 3]]])], 0),
    ("F.cosine_similarity(x, y)", [F32([[0, 0], [1, 2]]), F32([[1, 2], [2, 4]])], 0),
    ("F.prelu(x, torch.tensor([0.25]))", [SPECIAL[None]], 1), ("F.prelu(x, torch.tensor([-0.5]))", [FINITE[None]], 1),
    ("F.prelu(x, torch.tensor([0.0]))", [SPECIAL[None]], 1), ("F.rrelu(x)", [SPECIAL], 0),
    ("nn.LeakyReLU(0.3)(x)", [SPECIAL], 0), ("nn.ReLU6()(x)", [SPECIAL], 1), ("nn.Hardtanh(-3.0, 2.0)(x)", [FAR], 1), ("nn.Softplus(3.0, 2.0)(x)", [FINITE], 0),
    ("nn.Threshold(1.0, 0.5)(x)", [SPECIAL], 1), ("nn.GELU('tanh')(x)", [FAR], 0), ("nn.Softmin(1)(x)", [ODD_ROWS], 0), ("nn.Softmax2d()(x)", [image], 0),
    ("nn.ELU(-0.5)(x)", [SPECIAL], 0), ("nn.CELU(-2.0)(x)", [FINITE], 0), ("nn.Hardshrink(-0.5)(x)", [FINITE], 1), ("nn.Softshrink(0.0)(x)", [SPECIAL], 1),
    ("F.hardshrink(x, -0.5)", [FINITE], 1), ("x.to(torch.int32)", [FAR[:12]], 1), ("x.int().float()", [FINITE], 1), ("x.long()", [FINITE], 1),
    ("x.to(torch.uint8)", [F32([0.5, 1.9, 254.9, 255])], 1), ("x.to(torch.float16).float()", [F32([65504, 65520, 1e-3, 2049, -70000, NAN])], 1),
    ("x.to(torch.bfloat16).float()", [F32([1.00390625, 1.01171875, 3.3e38, -0.0, NAN])], 1), ("x.half().float() + 1", [F32([2048.5, 1e5])], 1),
    ("torch.sum(x)", [np.zeros((0,), np.float32)], 1), ("torch.mean(x)", [np.zeros((0,), np.float32)], 1), ("torch.prod(x)", [np.zeros((0,), np.float32)], 1),
    ("torch.sum(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("torch.amax(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("torch.amax(x, 0)", [np.zeros((2, 0), np.float32)], 1),
    ("torch.argmax(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("torch.mean(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("torch.prod(x, 1)", [np.zeros((2, 0), np.float32)], 1),
    ("torch.softmax(x, 1)", [np.zeros((2, 0), np.float32)], 1), ("F.relu(x)", [np.zeros((2, 0), np.float32)], 1), ("torch.cat([x, x + 1], 1)", [np.zeros((2, 0), np.float32)], 1),
    ("x.int().sum(1)", [WHOLE_ROWS.astype(F32)[:2]], 1), ("x.int().prod(1)", [F32([[65536, 65536, 3, 1]])], 1), ("x.int().cumsum(1)", [F32([[2147483520, 2147483520, 3]])], 1),
    ("x.int().sum()", [F32([2147483520, 2147483520])], 1), ("x.to(torch.uint8).sum(1)", [BYTE_ROWS.astype(F32)], 1), ("x.int().max(1).values", [F32([[1, -3, 1]])], 1),
    ("torch.ones(2, 3, dtype=torch.int64).sum(0) / x", [F32([4])], 1), ("x.size(0) / 2 * x", [F32([1, 2, 3])], 1), ("x.size(0) // -2 * x", [F32([1, 2, 3])], 1),
    ("x * (-7 % 3)", [F32([1, 2, 3])], 1), ("x * round(2.5) + round(3.5)", [F32([1, 2, 3])], 1), ("x * int(-2.7)", [F32([1, 2, 3])], 1), ("x * (7 // -2)", [F32([1, 2, 3])], 1),
]


def rows():
    """(name, expression, inputs, is it exact)"""
    for exact, table in ((1, EXACT), (0, NEAR)):
        for text in entries(table):
            for name, x in FLOATS.items():
                yield f"{text} {name}", text, [x], exact
    for text in entries(WHOLE_TOO):
        near = any(word in text for word in ("sqrt", "exp", "sigmoid", "log", "reciprocal", "/", "0.5"))
        for name, x in WHOLES.items():
            yield f"{text} {name}", text, [x], 0 if near else 1
    for text in entries(BOOL_TOO):
        yield f"{text} bool", text, [TRUTH], 1
    pairs = {"finite": grid(LEFT, RIGHT), "special": grid(ODD, ODD), "int32": grid(WHOLE_LEFT, WHOLE_RIGHT), "uint8": grid(BYTES[3:], BYTES[1:])}
    for exact, table in ((1, PAIRS), (0, NEAR_PAIRS)):
        for text in entries(table):
            for name, both in pairs.items():
                yield f"{text} {name}", text, list(both), exact if "lerp" not in text else 0
    for exact, table in ((1, FOLDS), (0, NEAR_FOLDS)):
        for text in entries(table):
            for name, x in (ROWS | (WHOLE_ROWS_BY if exact else {})).items():
                yield f"{text} {name}", text, [x], exact
    for text in entries(ON_IMAGES):
        exact = not any(word in text for word in ("avg", "bilinear", "lp_pool", "softmax", "mean", "local"))
        for name, x in IMAGES.items():
            yield f"{text} {name}", text, [x], int(exact)
    for text, inputs, exact in OTHERS:
        yield text, text, inputs, exact


def entries(table):
    import re
    joined = "|".join(table.splitlines())
    # a bar between spaces is Python's own
    return [e for e in re.split(r"(?<! )\|(?! )", joined) if e]


CAST = {"int32": "int32", "uint8": "uint8", "bool": "bool", "int64": "int64"}


def source_of(text, inputs):
    """A module whose inputs are float32: the expression sees them in their own type."""
    names = "xyz"[: len(inputs)]
    casts = "".join(f"        {n} = {n}.to(torch.{CAST[a.dtype.name]})\n" for n, a in zip(names, inputs) if a.dtype.name in CAST)
    return ("import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
            f"    def forward(self, {', '.join(names)}):\n{casts}        return {text}\n\n\nmodel = Model()\n")


def answer(source, inputs):
    import torch

    scope = {}
    exec(source, scope)
    with torch.inference_mode():
        out = scope["model"](*[torch.from_numpy(np.array(x)) for x in inputs])
    out = list(out) if isinstance(out, tuple) else [out]
    return [o.float().numpy() if o.dtype in (torch.float16, torch.bfloat16) else o.numpy() for o in out]


def build(text, inputs):
    """The model and the inputs as they are given to it."""
    fed = [np.asarray(x, np.float32) for x in inputs]
    # What float32 cannot hold is given as the nearest number it holds, still within the type.
    fed = [np.where(f >= 2147483648, np.float32(2147483520), f) if x.dtype == np.int32 else f for f, x in zip(fed, inputs)]
    return source_of(text, inputs), fed


def framework():
    import torch

    return f"torch {torch.__version__.split('+')[0]}"
