"""Small PyTorch networks exported here, as torch.export writes them and decomposed, answered by convoy's runtime and, carried
over, by PyTorch, ONNX Runtime and Keras as PyTorch itself answered: what exporters make of common layers."""
import json

import numpy as np
import pytest
from carrying import assert_close, convoy, import_file, run_natively
from test_keras_written import answers, opened
from test_onnx_written import crossings_of, session

TOLERANCE = 1e-4
IMAGE = (2, 3, 8, 7)


def numbers(*shape, seed=3):
    return (np.random.default_rng(seed + sum(shape)).integers(-8, 9, shape) / 4).astype(np.float32)


def modules() -> dict:
    """name -> (network, shapes of one input: the first is exported, others follow where sizes are free)."""
    import torch
    from torch import nn
    from torch.nn import functional as F  # noqa: N812

    class Net(nn.Module):
        def __init__(self, call, **parts):
            super().__init__()
            self.call = call
            for name, part in parts.items():
                self.add_module(name, part)

        def forward(self, x):
            return self.call(self, x)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 6, 3, stride=2, padding=1)
            self.c, self.o = nn.Conv2d(6, 4, 1), nn.Conv2d(8, 2, 3, padding=1)

        def forward(self, x):
            skip = F.relu(self.a(x))
            up = F.interpolate(self.c(self.b(skip)), size=skip.shape[2:], mode="bilinear")
            return self.o(torch.cat([up, skip], 1))

    def conv(out=4):
        return nn.Conv2d(3, out, 2)

    class Symmetric(nn.Module):
        def forward(self, w):
            return (w + w.transpose(2, 3)) / 2

    def parametrized():
        layer = nn.Conv2d(3, 4, 3)
        nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        return layer

    # What is written in place is seen by all that shares its memory.
    def through_select(s, x):
        y = s.c(x)
        y[:, 0].mul_(2)
        return y + 1

    def seen_by_a_view(s, x):
        y = s.c(x)
        flat, turned = y.flatten(1), y.permute(0, 2, 3, 1)
        y.add_(1)
        return flat * 2 + turned.reshape(2, -1)

    def through_two_views(s, x):
        y = s.c(x)
        y.permute(0, 2, 3, 1)[..., 1].sub_(0.5)
        y.unsqueeze(0).clamp_(-1, 2)
        return y

    def parts_assigned(s, x):
        y = s.c(x)
        y[..., 0:2] = y[..., 0:2].sigmoid() * 2
        y[:, :, 1:5:2] = x[:, :1, 1:5:2, 1:]
        y[:, 2] = 1.5
        y[y < -1] = 0.25
        return y

    def split_changed(s, x):
        y = s.c(x)
        first = y[:, :2]
        first.tanh_()
        return torch.cat([first, y], 1)

    def made_whole(s, x):
        y = torch.zeros_like(x)
        y[:, :2, 1:-1] = x[:, 1:, :-2]
        y[:, 2].fill_(1.5)
        return s.c(y) + torch.arange(0.0, 6.0)

    def composed(s, x):
        y = s.c(x)
        angles = F.cosine_similarity(y, y.flip(1), dim=1).unsqueeze(1)
        two, one_each = torch.tensor_split(y, 3, 1)[::2]
        turned = y.rot90(1, (2, 3)).movedim(2, -1)
        rows, _ = torch.meshgrid(torch.arange(7), torch.arange(6), indexing="ij")
        marks = F.one_hot(y.argmax(1), 4).permute(0, 3, 1, 2).to(y.dtype)
        parts = two.amax(1, keepdim=True) + one_each + y.frac() + y.unfold(2, 7, 1).mean(-1)
        return torch.lerp(angles, y, 0.75) + parts + turned + rows + marks

    one, free = [IMAGE], [IMAGE, (3, 3, 12, 13)]
    in_place = (through_select, seen_by_a_view, through_two_views, parts_assigned, split_changed, made_whole, composed)
    return {
        "max_pool": (nn.MaxPool2d((3, 2), stride=(2, 3), padding=(1, 0), ceil_mode=True), one),
        "max_pool_dilated": (nn.MaxPool2d((2, 3), stride=2, padding=1, dilation=(1, 2)), free),
        "adaptive_max": (nn.AdaptiveMaxPool2d((5, 3)), one),
        "instance_norm_kept": (
            Net(lambda s, x: s.n(s.c(x)), c=conv(), n=nn.InstanceNorm2d(4, affine=True, track_running_stats=True)), one),
        "instance_norm_3d": (nn.InstanceNorm3d(3, affine=True), [(2, 3, 4, 5, 6)]),
        "rms_norm": (Net(lambda s, x: s.n(s.c(x)), c=conv(6), n=nn.RMSNorm((7, 6), eps=1e-3)), one),
        "up_by_factors": (nn.Upsample(scale_factor=(2, 3), mode="bilinear"), free),
        "size_of_skip": (UNet(), one),
        "parametrized": (Net(lambda s, x: s.c(x), c=parametrized()), one),
        "weight_norm": (nn.utils.parametrizations.weight_norm(conv()), one),
        "log_sigmoid": (Net(lambda s, x: F.logsigmoid(F.selu(F.celu(s.c(x), 0.7))), c=conv()), one),
        "circular": (nn.Conv2d(3, 4, (3, 5), padding=(1, 2), padding_mode="circular"), one),
        "log_sum_exp": (Net(lambda s, x: torch.logsumexp(s.c(x), (2, 3)), c=conv()), one),
        "both_ways": (
            Net(lambda s, x: s.r(x.flatten(2).transpose(1, 2))[0], r=nn.GRU(3, 4, bidirectional=True, batch_first=True)), one),
        "any": (Net(lambda s, x: (s.c(x) > 0.5).any(1).float(), c=conv()), one),
        "group_norm_free": (Net(lambda s, x: s.n(s.c(x)), c=conv(6), n=nn.GroupNorm(3, 6)), free),
        **{call.__name__: (Net(call, c=conv()), one) for call in in_place},
    }


def exported(name: str, folder, decomposed: bool):
    import torch

    net, shapes = modules()[name]
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randint(-4, 5, p.shape, generator=generator) / 4)
        for key, buffer in net.named_buffers():
            if key.endswith("var"):
                buffer.copy_(torch.randint(1, 6, buffer.shape, generator=generator) / 2)
    net.eval()
    sets = [(numbers(*shape), net(torch.from_numpy(numbers(*shape))).detach().numpy()) for shape in shapes]
    kind = torch.export.Dim.DYNAMIC
    sizes = ({axis: kind for axis in (0, 2, 3)},) if len(shapes) > 1 else None
    program = torch.export.export(net, (torch.from_numpy(numbers(*shapes[0])),), dynamic_shapes=sizes)
    torch.export.save(program.run_decompositions() if decomposed else program, folder / "net.pt2")
    return folder / "net.pt2", sets


def check(source, sets, folder, *options, targets=(".py", ".onnx", ".keras")):
    """The stored answers come out of the runtime and of every framework that the program is carried to."""
    import torch

    ports = {}
    for suffix in targets:
        done = convoy("port", source, "-o", folder / f"port{suffix}", "--json", "--force", *options)
        ports[suffix] = crossings_of(json.loads(done.stdout))
    for x, want in sets:
        name = ports[targets[0]]["inputs"][0].name
        assert_close(run_natively([source], {name: x}, folder, *options), [want], TOLERANCE, "natively")
        for suffix, sides in ports.items():
            fed = sides["inputs"][0].to_port(x)
            if suffix == ".py":
                with torch.inference_mode():
                    y = import_file(folder / "port.py").load()(torch.from_numpy(fed)).numpy()
            elif suffix == ".onnx":
                y = session(folder / "port.onnx", True).run(None, {sides["inputs"][0].name: fed})[0]
            else:
                y = answers(opened(folder / "port.keras"), sides, [x])[0]
                assert_close([y], [want], TOLERANCE, suffix)
                continue
            assert_close([sides["outputs"][0].from_port(y)], [want], TOLERANCE, suffix)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("decomposed", [False, True], ids=["", "decomposed"])
@pytest.mark.parametrize("name", modules())
def test_program(name, decomposed, tmp_path):
    source, sets = exported(name, tmp_path, decomposed)
    check(source, sets, tmp_path)


def test_a_size_computed_from_free_ones_is_followed(tmp_path):
    import torch

    net = modules()["size_of_skip"][0].eval()
    kind = torch.export.Dim.DYNAMIC
    program = torch.export.export(net, (torch.zeros(2, 3, 13, 10),), dynamic_shapes=({0: kind, 2: kind, 3: kind},))
    torch.export.save(program, tmp_path / "net.pt2")
    for rows, columns in ((13, 10), (18, 23)):
        x = numbers(3, 3, rows, columns)
        want = net(torch.from_numpy(x)).detach().numpy()
        check(tmp_path / "net.pt2", [(x, want)], tmp_path)
        check(tmp_path / "net.pt2", [(x, want)], tmp_path, "--size", f"{rows}x{columns}")
