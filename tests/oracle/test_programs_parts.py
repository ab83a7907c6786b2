"""Exported programs that pick cells, walk step by step, repeat along a free size and look an image up at places: answered by
PyTorch, ONNX Runtime and Keras as PyTorch itself answered."""
import pytest
from test_programs import check, numbers

BATCHES = [(2, 5, 4), (3, 5, 4)]
IMAGES = [(2, 3, 8, 7), (3, 3, 8, 7)]
INTERPOLATIONS = [
    (mode, border, corners)
    for mode in ("bilinear", "nearest")
    for border in ("zeros", "border", "reflection")
    for corners in (False, True)
]


def modules() -> dict:
    """name -> (network, shapes of its input): axes whose sizes differ are free."""
    import torch
    from torch import nn
    from torch.nn import functional as F  # noqa: N812

    class Net(nn.Module):
        def __init__(self, call, **parts):
            super().__init__()
            self.call = call
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, x):
            return self.call(self, x)

    class VisionTransformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 12, (4, 3), (4, 3))
            self.token, self.places = nn.Parameter(torch.zeros(1, 1, 12)), nn.Parameter(torch.zeros(1, 5, 12))
            self.block = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True, norm_first=True, activation="gelu")
            self.queries, self.head = nn.Parameter(torch.zeros(4, 1, 12)), nn.Linear(12, 5)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = self.block(torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places)
            queries = self.queries.repeat(1, x.shape[0], 1).transpose(0, 1)
            return self.head(torch.cat([x[:, :1], queries @ x.transpose(1, 2) @ x], 1))

    class Cell(nn.Module):
        def __init__(self, kind, **options):
            super().__init__()
            self.cell, self.out = kind(4, 6, **options), nn.Linear(6, 3)

        def forward(self, x):
            state = x.new_zeros(x.shape[0], 6)
            states = (state, state) if isinstance(self.cell, nn.LSTMCell) else state
            for t in range(x.shape[1]):
                states = self.cell(x[:, t], states)
            return self.out(states[0] if isinstance(states, tuple) else states)

    class Bag(nn.Module):
        def __init__(self, mode, offsets=None):
            super().__init__()
            self.table, self.out = nn.EmbeddingBag(11, 6, mode=mode), nn.Linear(6, 2)
            self.offsets = None if offsets is None else nn.Buffer(torch.tensor(offsets))

        def forward(self, x):
            rows = (x * 4 + 8).long().clamp(0, 10)
            return self.out(self.table(rows, self.offsets))

    class Sampled(nn.Module):
        """Half of the places lie outside of the image, some on its edges."""

        def __init__(self, mode, border, corners):
            super().__init__()
            self.c, self.options = nn.Conv2d(3, 2, 3), {"mode": mode, "padding_mode": border, "align_corners": corners}

        def forward(self, x):
            return F.grid_sample(self.c(x), x[:, :2, :3, :4].permute(0, 2, 3, 1) * 0.75, **self.options)

    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.angles, self.c = nn.Linear(3, 6), nn.Conv2d(3, 2, 3)

        def forward(self, x):
            theta = self.angles(x.mean((2, 3))).view(-1, 2, 3) * 0.3
            return self.c(F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False))

    class Attending(nn.Module):
        """What follows a free number of cells and a free batch: positions, and cells that look at all others."""

        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = nn.Conv2d(3, 2, 1), nn.Conv2d(3, 2, 1), nn.Conv2d(3, 4, 1)

        def forward(self, x):
            b, _, h, w = x.shape
            q, k, v = self.q(x).view(b, 2, -1), self.k(x).view(b, 2, -1), self.v(x).view(b, 4, -1)
            seen = torch.softmax(q.transpose(1, 2) @ k, -1) @ v.transpose(1, 2)
            return seen.transpose(1, 2).reshape(b, 4, h, w)

    class Pyramid(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.out = nn.Conv2d(3, 4, 3, padding=2, dilation=2), nn.Conv2d(3, 2, 1), nn.Conv2d(6, 5, 1)

        def forward(self, x):
            whole = F.interpolate(self.b(F.adaptive_avg_pool2d(x, 1)), size=x.shape[2:], mode="bilinear")
            return self.out(torch.cat([self.a(x), whole], 1))

    class Frozen(nn.Module):
        """A trunk without gradients, changed in place inside and behind."""

        def __init__(self):
            super().__init__()
            self.trunk = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            with torch.no_grad():
                y = self.trunk(x)
                means = y.mean((2, 3))
                y[:, 2:].mul_(0.5)
                first = y[:, :2].mean((2, 3))
            y.add_(1)
            return self.head(means) + y.amax((2, 3))[:, 1:3] + first

    def net(call, shapes, **parts):
        return Net(call, **parts), shapes

    def buffer(values):
        return nn.Buffer(torch.tensor(values))

    def linear(out=6):
        return nn.Linear(4, out)

    def conv():
        return nn.Conv2d(3, 4, 3)

    def angle(s, x):
        y = s.c(x)
        return torch.atan2(y, F.relu(x[:, :1, 2:, 2:]) * torch.where(x[:, 1:2, 2:, 2:] > 0, 1.0, -1.0))

    def products(s, x):
        turned = torch.outer(x.mean((0, 1)) @ s.matrix, s.vector)
        return x @ turned + torch.mv(s.matrix, s.vector) + torch.dot(s.vector, s.vector)

    def channels_last(s, x):
        return s.l(F.relu(s.c(x)).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    def channels_apart(s, x):
        y = s.c(x)
        return y.view(y.shape[0], 2, 2, y.shape[2], y.shape[3]).sum(1)

    def apart(s, x):
        return F.pairwise_distance(s.l(x), s.m(x), keepdim=True)

    def put_by_rank(s, x):  # at places that the numbers say
        y = s.l(x)
        order = y.argsort(-1)
        return y.scatter(-1, order, y * 2) + torch.zeros_like(y).scatter_add(-1, order, y) + y.scatter(-1, order[..., :1], 3.0)

    def off(s, x):
        with torch.autocast("cpu", enabled=False):
            return s.l(x.float()) / 4

    def windows(s, x):  # every patch an example of its own, and back
        y = x.reshape(x.shape[0] * 5, 2, -1)
        return s.l(y).reshape(x.shape[0], 5, -1)

    one, batches = BATCHES[:1], BATCHES
    free, steps = [(2, 3, 8, 9), (3, 3, 12, 7)], [(2, 5, 4), (3, 7, 4)]
    return {
        "vision_transformer": (VisionTransformer(), IMAGES),
        **{f"cell_{kind.__name__}": (Cell(kind), batches) for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell)},
        "cell_relu": (Cell(nn.RNNCell, nonlinearity="relu", bias=False), batches),
        "projected": net(lambda s, x: s.r(x)[0], batches, r=nn.LSTM(4, 7, proj_size=3, batch_first=True)),
        "projected_both_ways": net(
            lambda s, x: torch.cat([s.r(x)[0].mean(1), *s.r(x)[1][0], *s.r(x)[1][1]], 1), one,
            r=nn.LSTM(4, 7, 2, bias=False, proj_size=3, batch_first=True, bidirectional=True)),
        "bag_of_rows": (Bag("mean"), [(4, 3)]),
        "bags_of_unlike_length": (Bag("max", [0, 2, 3]), [(8,)]),
        "bags_summed": (Bag("sum", [0, 4]), [(8,)]),
        "atan2": net(angle, [IMAGES[0]], c=nn.Conv2d(3, 1, 3)),
        "hypot": net(lambda s, x: torch.hypot(s.l(x), s.l(x).flip(-1) - 1), batches, l=linear()),
        "put_by_rank": net(put_by_rank, batches, l=linear()),
        "rows_added": net(
            lambda s, x: torch.zeros(x.shape[0], 7, 4).index_add(1, s.i, x), one, i=buffer([6, 0, 2, 2, 5])),
        "diagonals": net(
            lambda s, x: torch.diag_embed(torch.diagonal(s.c(x), 1, 2, 3), 2), IMAGES, c=conv()),
        "share_added": net(lambda s, x: torch.addcmul(x, s.v, x, value=0.5) + torch.addcdiv(s.v, x, x * x + 1), batches,
                           v=nn.Parameter(torch.zeros(4))),
        "cut_at_places": net(
            lambda s, x: torch.cat(x.tensor_split([1, 3, 3, -1], dim=1)[::-1][:2] + x.tensor_split([2], dim=1), 1), batches),
        "each_again": net(lambda s, x: s.l(x).repeat_interleave(3, dim=0), batches, l=linear()),
        "counted_in_floats": net(lambda s, x: torch.cumsum(x > 0, 1, dtype=torch.float32), batches),
        "autocast_off": net(off, batches, l=linear()),
        "windows": net(windows, batches, l=nn.Linear(2, 6)),
        "bounded_by_tensors": net(lambda s, x: s.l(x).clamp(max=s.v).clamp(min=-s.v), batches, l=linear(),
                                  v=nn.Parameter(torch.ones(6))),
        "bilinear": net(lambda s, x: s.b(x[..., :3], x[..., 1:]), [(2, 5, 4)], b=nn.Bilinear(3, 3, 6)),
        "distances": net(lambda s, x: torch.cdist(s.l(x), s.rows), batches, l=linear(), rows=nn.Parameter(torch.zeros(3, 6))),
        "distances_by_sums": net(lambda s, x: torch.cdist(x, s.l(x)[:, :3, :4], p=1.0), batches, l=linear()),
        "products_with_vectors": net(products, one, matrix=nn.Parameter(torch.zeros(4, 4)), vector=nn.Parameter(torch.zeros(4))),
        "spectral_norm": net(lambda s, x: s.c(x), [IMAGES[0]], c=nn.utils.parametrizations.spectral_norm(conv())),
        "cells_by_two_lists": net(
            lambda s, x: s.c(x)[:, :, s.i, s.j], IMAGES, c=conv(), i=buffer([0, 2, 3]), j=buffer([4, 1, -1])),
        "cells_by_tables": net(
            lambda s, x: s.c(x)[:, s.i, s.j], IMAGES, c=conv(), i=buffer([[0, 2, 1], [1, -1, 3]]), j=buffer([3, -2, 0])),
        "cells_by_lists_apart": net(
            lambda s, x: s.c(x)[s.i, :, s.j], [IMAGES[0]], c=conv(), i=buffer([[0, 1], [1, -1]]), j=buffer([3, -2])),
        "one_step_of_each": net(lambda s, x: s.l(x)[torch.arange(x.shape[0]), x.argmax(1)[:, 0]], batches, l=linear()),
        "numbers_along_a_free_size": net(
            lambda s, x: s.l(x) + torch.sin(torch.arange(x.shape[0]).float()[:, None, None] * s.w), batches,
            l=linear(), w=buffer([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])),
        "rolled": net(lambda s, x: torch.roll(s.c(x), (1, -2), (2, 3)), [(2, 3, 8, 9), (3, 3, 12, 7)], c=conv()),
        "largest_along_rows": net(lambda s, x: torch.topk(s.c(x), 2, dim=2)[0], IMAGES, c=conv()),
        "smallest_channels": net(lambda s, x: torch.topk(s.c(x), 3, dim=1, largest=False)[0], IMAGES, c=conv()),
        "without_gradients": (Frozen(), free),
        "cells_that_attend": (Attending(), free),
        "pyramid": (Pyramid(), free),
        "channels_last": net(channels_last, free, c=conv(), l=nn.Linear(4, 5)),
        "channels_apart": net(channels_apart, free, c=conv()),
        "channels_shuffled": net(lambda s, x: s.s(s.c(x)), free, c=conv(), s=nn.ChannelShuffle(2)),
        "first_positions": net(
            lambda s, x: s.l(x) + s.places[:, : x.shape[1]], steps, l=linear(), places=nn.Parameter(torch.zeros(1, 64, 6))),
        "pairwise_distance": net(apart, batches, l=linear(), m=linear()),
        "sampled_by_matrix": (Turned(), IMAGES),
        **{"sampled_{}_{}_{}".format(*row): (Sampled(*row), [IMAGES[0]]) for row in INTERPOLATIONS},
    }  # fmt: skip


def exported(name: str, folder, decomposed: bool):
    import torch

    net, shapes = modules()[name]
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randint(-4, 5, p.shape, generator=generator) / 8)
    net.eval()
    sets = [(numbers(*shape), net(torch.from_numpy(numbers(*shape))).detach().numpy()) for shape in shapes]
    free = {axis for axis in range(len(shapes[0])) if len({shape[axis] for shape in shapes}) > 1}
    sizes = ({axis: torch.export.Dim.DYNAMIC for axis in free},) if free else None
    program = torch.export.export(net, (torch.from_numpy(numbers(*shapes[0])),), dynamic_shapes=sizes)
    torch.export.save(program.run_decompositions() if decomposed else program, folder / "net.pt2")
    return folder / "net.pt2", sets


# What is decomposed at a free size is not yet understood.
UNDECOMPOSED = {"rolled"}
# Keras has no reshape to several free sizes.
NOT_TO_KERAS = {("channels_apart", False), ("channels_apart", True), ("channels_shuffled", True), ("cells_that_attend", True)}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("decomposed", [False, True], ids=["", "decomposed"])
@pytest.mark.parametrize("name", modules())
def test_program(name, decomposed, tmp_path):
    if decomposed and name in UNDECOMPOSED:
        pytest.skip("indices that are computed from a free size")
    source, sets = exported(name, tmp_path, decomposed)
    check(source, sets, tmp_path, targets=(".py", ".onnx") if (name, decomposed) in NOT_TO_KERAS else (".py", ".onnx", ".keras"))
